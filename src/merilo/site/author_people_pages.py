"""The author's pages about one person: what the site knows, and how to exclude, reinstate and erase them."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import AfterValidator

from merilo.errors import UsageError
from merilo.site.author_actions import LONGEST_REASON, erase, exclude, reinstate
from merilo.site.author_reads import PersonDetails, person_details
from merilo.site.author_views import HOME, AuthorViews, plain_name
from merilo.site.database import drop_remnants
from merilo.site.served_study import ServedStudy
from merilo.site.site_requests import RefusedRequestError, field, form_of

#: A person in the address of a page.
Pseudonym: TypeAlias = Annotated[str, AfterValidator(plain_name)]


def author_people_routes(views: AuthorViews) -> APIRouter:
    """Return the routes of the pages about one person."""
    site = views.site
    router = APIRouter(
        prefix=f"{HOME}{{key}}/people/{{pseudonym}}",
        default_response_class=HTMLResponse,
        dependencies=[Depends(views.signed_in)],
    )

    @router.get("")
    async def person(request: Request, key: str, pseudonym: Pseudonym) -> Response:
        study = site.study(key)
        return await _person_page(views, request, study, await _details(views, study, pseudonym))

    @router.post("/exclude")
    async def excluded(request: Request, key: str, pseudonym: Pseudonym) -> Response:
        study, form, now = site.study(key), await form_of(request, site.cookies), site.clock.now()
        reason = field(form, "reason")
        try:
            done = await site.write(
                lambda connection: exclude(connection, study, pseudonym, reason, now=now, actor="author")
            )
        except UsageError:
            shown = await _details(views, study, pseudonym)
            return await _person_page(views, request, study, shown, fault="reason_fault", typed=reason)
        return _back(study, pseudonym, done)

    @router.post("/reinstate")
    async def reinstated(request: Request, key: str, pseudonym: Pseudonym) -> Response:
        study, _, now = site.study(key), await form_of(request, site.cookies), site.clock.now()
        done = await site.write(
            lambda connection: reinstate(connection, study, pseudonym, now=now, actor="author")
        )
        return _back(study, pseudonym, done)

    @router.get("/erase")
    async def confirm(request: Request, key: str, pseudonym: Pseudonym) -> Response:
        study = site.study(key)
        shown = await _details(views, study, pseudonym)
        return await views.page(request, "author_erase.html.j2", study=study, current="people", person=shown)

    @router.post("/erase")
    async def erased(request: Request, key: str, pseudonym: Pseudonym) -> Response:
        study, _, now = site.study(key), await form_of(request, site.cookies), site.clock.now()
        done = await site.write(
            lambda connection: erase(connection, study, pseudonym, now=now, actor="author")
        )
        if done is None:
            raise RefusedRequestError(404, "not_found")
        await views.in_thread(lambda: drop_remnants(site.engine))
        return RedirectResponse(f"{HOME}{study.key}/log", 303)

    return router


async def _details(views: AuthorViews, study: ServedStudy, pseudonym: str) -> PersonDetails:
    found = await views.read(lambda connection: person_details(connection, study, pseudonym))
    if found is None:
        raise RefusedRequestError(404, "not_found")
    return found


async def _person_page(
    views: AuthorViews,
    request: Request,
    study: ServedStudy,
    person: PersonDetails,
    *,
    fault: str = "",
    typed: str = "",
) -> Response:
    return await views.page(
        request, "author_person.html.j2", study=study, current="people", status=422 if fault else 200, person=person,
        fault=fault, typed=typed, longest=LONGEST_REASON,
    )  # fmt: skip


def _back(study: ServedStudy, pseudonym: str, done: object) -> Response:
    if done is None:
        raise RefusedRequestError(404, "not_found")
    return RedirectResponse(f"{HOME}{study.key}/people/{pseudonym}", 303)

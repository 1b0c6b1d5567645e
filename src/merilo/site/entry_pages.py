"""The pages on which people come in: by a link, by a code, or with an id of a platform."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from markupsafe import Markup
from sqlalchemy import Connection

from merilo.site import annotator_steps as steps
from merilo.site.annotation_site import AnnotationSite, go_to
from merilo.site.annotator_steps import Participant, hand_out_completion
from merilo.site.people_access import (
    PREVIEW,
    Admission,
    admit_from_platform,
    admit_invited,
    platform_id,
)
from merilo.site.served_study import ServedStudy
from merilo.site.site_requests import browser_language, field, form_of
from merilo.site.site_words import words
from merilo.site.visitor_cookies import VisitorCookies
from merilo.site.visitor_limits import TooManyRequestsError

#: The pages on which a person stays when they change the language.
_PAGES: Final = frozenset({"task", "training", "instruction", "pause"})

#: The most characters of a wrong code that are shown again.
LONGEST_TYPED: Final = 60


def entry_routes(site: AnnotationSite) -> APIRouter:
    """Return the routes of the pages on which people come in."""
    router = APIRouter(default_response_class=HTMLResponse)

    @router.get("/")
    async def door(request: Request) -> Response:
        return site.notice(request, "welcome", ["enter_code"], code_form=True)

    @router.post("/enter")
    async def enter(request: Request) -> Response:
        form = await form_of(request, site.cookies)
        return await _by_code(site, request, field(form, "code"))

    @router.get("/i/{code}")
    async def link(request: Request, code: str) -> Response:
        return await _by_code(site, request, code)

    @router.get("/s/{key}/")
    async def home(request: Request, key: str) -> Response:
        study = site.study(key)
        handed = platform_id(request.query_params)
        if handed is not None and not study.by_invitation:
            language = browser_language(request, study.languages)
            now, wait = site.clock.now(), site.limits.seconds_to_new_person(request)
            admitted = await site.write(
                lambda connection: admit_from_platform(
                    connection, study, *handed, language, now=now, new=not wait, newcomers=site.newcomers
                )
            )
            if admitted is None:
                raise TooManyRequestsError(seconds=wait)
            if admitted.new:
                site.limits.new_person(request)
            return _let_in(site, request, admitted)

        def look(connection: Connection, person: Participant) -> tuple[Participant, str | None]:
            ended = person.stage in {"stopped", "refused", "excluded"} and _from_platform(person)
            return person, hand_out_completion(connection, person) if ended else None

        found = await site.as_person(request, study, look)
        if found is None:
            if request.query_params.get("assignmentId") == PREVIEW:
                return site.notice(request, "preview", ["preview_text"], study=study)
            return site.notice(request, "invited_only", ["invited_only_text"], study=study, code_form=True)
        return _stage_page(site, request, study, *found)

    return router


def reading_routes(site: AnnotationSite) -> APIRouter:
    """Return the routes of consent, instruction and language."""
    router = APIRouter(prefix="/s/{key}", default_response_class=HTMLResponse)

    @router.post("/language")
    async def language(request: Request, key: str) -> Response:
        study, form = site.study(key), await form_of(request, site.cookies)
        chosen, page = field(form, "language"), field(form, "page")
        if chosen in study.languages:
            await site.as_person(
                request,
                study,
                lambda connection, person: steps.set_language(connection, person, chosen),
            )
        return go_to(request, f"/s/{key}/{page if page in _PAGES else ''}")

    @router.post("/consent")
    async def consent(request: Request, key: str) -> Response:
        study, _ = site.study(key), await form_of(request, site.cookies)
        await site.as_person(request, study, steps.consent)
        return go_to(request, f"/s/{key}/")

    @router.get("/instruction")
    async def instruction(request: Request, key: str) -> Response:
        study = site.study(key)
        person = await site.look_as_person(request, study, lambda _, person: person)
        if person is None or person.stage == "consent":
            return go_to(request, f"/s/{key}/")
        said = words(site.language(request, study, person))
        shown = _with_scrolling_tables(
            study.instructions[site.language(request, study, person)], said["table"]
        )
        return site.page(
            request, "instruction.html.j2", study=study, person=person, heading=said["instruction"],
            page="instruction",
            instruction=Markup(shown),  # noqa: S704 - made by `html_of`, which leaves no markup of the author
        )  # fmt: skip

    @router.post("/instruction")
    async def read(request: Request, key: str) -> Response:
        study, _ = site.study(key), await form_of(request, site.cookies)
        await site.as_person(
            request, study, lambda connection, person: steps.read_instruction(connection, study, person)
        )
        return go_to(request, f"/s/{key}/")

    return router


def _with_scrolling_tables(html: str, name: str) -> str:
    """Put each table of an instruction into a box that scrolls, also by keyboard, so that a wide table does not widen the page."""
    box = f'<div class="table" tabindex="0" role="region" aria-label="{name}"><table>'
    return html.replace("<table>", box).replace("</table>", "</table></div>")


def _from_platform(person: Participant) -> bool:
    return person.source not in {"link", "expert"}


def _stage_page(
    site: AnnotationSite, request: Request, study: ServedStudy, person: Participant, completion: str | None
) -> Response:
    """The page of a person's stage."""
    base = f"/s/{study.key}"
    if person.stage == "consent":
        return site.notice(
            request, "consent", ["consent_what", "consent_kept", "consent_free"], study=study, person=person,
            button="agree", to=f"{base}/consent", post=True,
        )  # fmt: skip
    if person.stage == "working":
        return RedirectResponse(f"{base}/{'pause?note=start' if study.rules.time_limit else 'task'}", 303)
    if person.stage in {"instruction", "training"}:
        return RedirectResponse(f"{base}/{person.stage}", 303)
    return site.notice(
        request, person.stage, [f"{person.stage}_text"], study=study, person=person, completion=completion
    )


async def _by_code(site: AnnotationSite, request: Request, code: str) -> Response:
    site.limits.before_code(request)
    language, now = browser_language(request), site.clock.now()
    admitted = await site.write(
        lambda connection: admit_invited(
            connection, site.by_number, code, language, now, newcomers=site.newcomers
        )
    )
    if admitted is None:
        site.limits.wrong_code(request)
        return site.notice(
            request, "welcome", status=404, code_form=True, fault="wrong_code", typed=code[:LONGEST_TYPED]
        )
    return _let_in(site, request, admitted)


def _let_in(site: AnnotationSite, request: Request, admitted: Admission) -> Response:
    home = f"/s/{site.by_number[admitted.study].key}/"
    response = RedirectResponse(home, 303)
    site.set_cookie(
        request, response, VisitorCookies.PERSON, site.cookies.person(admitted.person), home.rstrip("/")
    )
    return response

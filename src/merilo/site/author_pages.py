"""The author's pages about a study: overview, people, invitations, log, tables to download, and the hidden estimate."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Callable, Sequence
from math import ceil
from typing import Annotated, Final, TypeAlias

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from pydantic import AfterValidator

from merilo.errors import DataError, UsageError, for_library
from merilo.reports.study_status import StudyStatus
from merilo.site.answer_export import collect_answers, count_answers
from merilo.site.audit_log import PAGE, Deed, events
from merilo.site.author_actions import (
    LONGEST_REASON,
    AuthorActions,
    comments_table,
    listed_invitations,
    person_details,
)
from merilo.site.author_session import HOME, AuthorViews, local_path, plain_name
from merilo.site.collected_figures import estimate_so_far
from merilo.site.database import drop_remnants
from merilo.site.overview_texts import CHART, overview_texts, people_columns, sorted_people
from merilo.site.people_access import LONGEST_ID, domains_of, new_code
from merilo.site.people_counts import count_people, people_table
from merilo.site.served_study import ServedStudy
from merilo.site.site_requests import RefusedRequestError, field, form_of
from merilo.text import Text

#: Links that are made at once.
MOST_LINKS: Final = 1000

#: People on one page of the table.
PEOPLE_OF_A_PAGE: Final = 100

#: A person in the address of a page.
Pseudonym: TypeAlias = Annotated[str, AfterValidator(plain_name)]


def author_study_routes(views: AuthorViews) -> APIRouter:
    """Return the routes of the overview, its live figures, the estimate, pausing and the log."""
    router = _router(views, "")
    site = views.site
    one_at_a_time = asyncio.Lock()

    @router.get("/")
    async def overview(request: Request, key: str) -> Response:
        study = site.study(key)
        figures = await site.live.figures(study)
        return await views.page(
            request, "author_overview.html.j2", study=study, current="overview", chart=CHART, at=figures.at,
            figures=overview_texts(figures, views.language(request)),
        )  # fmt: skip

    @router.get("/live", response_class=StreamingResponse)
    async def live(request: Request, key: str) -> Response:
        study, language = site.study(key), views.language(request)

        async def allowed() -> bool:
            return not await request.is_disconnected() and await views.account(request) is not None

        events = site.live.events(study, language, allowed)
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(events, media_type="text/event-stream", headers=headers)

    async def estimate_page(
        request: Request, study: ServedStudy, status: StudyStatus | None = None, problem: str = ""
    ) -> Response:
        return await views.page(
            request, "author_estimate.html.j2", study=study, current="overview", status_of_study=status, problem=problem
        )  # fmt: skip

    @router.get("/estimate")
    async def ask(request: Request, key: str) -> Response:
        return await estimate_page(request, site.study(key))

    @router.post("/estimate")
    async def show(request: Request, key: str) -> Response:
        study = site.study(key)
        await form_of(request, site.cookies)
        await views.act(request, study, lambda author: author.record("estimate_shown"))
        try:
            async with one_at_a_time:
                status = await asyncio.to_thread(estimate_so_far, site.engine, study)
        except DataError as error:
            return await estimate_page(request, study, problem=for_library(error.marked))
        return await estimate_page(request, study, status, status.problem)

    async def set_paused(request: Request, key: str, *, paused: bool) -> Response:
        study, form = site.study(key), await form_of(request, site.cookies)
        await views.act(request, study, lambda author: author.set_paused(paused=paused))
        return RedirectResponse(local_path(field(form, "next")), 303)

    @router.post("/pause")
    async def pause(request: Request, key: str) -> Response:
        return await set_paused(request, key, paused=True)

    @router.post("/resume")
    async def resume(request: Request, key: str) -> Response:
        return await set_paused(request, key, paused=False)

    @router.get("/log")
    async def log(request: Request, key: str) -> Response:
        study, before = site.study(key), _number(request, "before")
        found = await site.read(
            lambda connection: events(connection, study.rules.study, before=before, most=PAGE + 1)
        )
        return await views.page(
            request, "author_log.html.j2", study=study, current="log", events=found[:PAGE], newest=before is None,
            older=found[PAGE - 1].id if len(found) > PAGE else None,
        )  # fmt: skip

    return router


def author_table_routes(views: AuthorViews) -> APIRouter:
    """Return the routes of the tables to download."""
    router = _router(views, "")
    site = views.site

    @router.get("/export")
    async def export(request: Request, key: str) -> Response:
        study = site.study(key)
        made = await site.read(lambda connection: count_answers(connection, study))
        return await views.page(request, "author_export.html.j2", study=study, current="export", made=made)

    async def table(request: Request, study: ServedStudy, name: str, deed: Deed, text: str) -> Response:
        await views.act(request, study, lambda author: author.record(deed))
        headers = {"Content-Disposition": f'attachment; filename="{name}-{study.key}.csv"'}
        return Response(text.encode(), media_type="text/csv; charset=utf-8", headers=headers)

    @router.get("/answers.csv", response_class=Response)
    async def answers(request: Request, key: str) -> Response:
        study = site.study(key)
        made = await site.read(lambda connection: collect_answers(connection, study))
        return await table(request, study, "answers", "answers_exported", made.table)

    @router.get("/people.csv", response_class=Response)
    async def people(request: Request, key: str) -> Response:
        study, now = site.study(key), site.clock.now()
        came = await site.read(lambda connection: count_people(connection, study, now))
        return await table(request, study, "people", "counts_exported", people_table(study, came))

    @router.get("/comments.csv", response_class=Response)
    async def comments(request: Request, key: str) -> Response:
        study = site.study(key)
        made = await site.read(lambda connection: comments_table(connection, study))
        return await table(request, study, "comments", "comments_exported", made)

    return router


def author_invitation_routes(views: AuthorViews) -> APIRouter:
    """Return the routes of invitations."""
    router = _router(views, "/invitations")
    site = views.site

    async def listed_page(
        request: Request,
        study: ServedStudy,
        *,
        fault: Text | None = None,
        typed: str = "",
        ticked: Sequence[str] = (),
    ) -> Response:
        page = max(1, _number(request, "page") or 1)
        listed, pages = await site.read(lambda connection: listed_invitations(connection, study, page))
        return await views.page(
            request,
            "author_invitations.html.j2",
            study=study,
            current="invitations",
            status=422 if fault else 200,
            fault=fault,
            typed=typed,
            ticked=ticked,
            listed=listed,
            domains_of=domains_of,
            page=page,
            pages=pages,
            once=secrets.token_urlsafe(24),
            most=MOST_LINKS,
        )

    @router.get("")
    async def invitations(request: Request, key: str) -> Response:
        return await listed_page(request, site.study(key))

    @router.post("")
    async def invited(request: Request, key: str) -> Response:
        study, form = site.study(key), await form_of(request, site.cookies)
        once, typed = field(form, "once"), field(form, "names")
        names: list[str | None] = []
        fault = None if once else Text("Go back, reload the page and try again.")
        domains = [name for name in study.domains if name in form.get("domain", ())]
        if study.by_invitation:
            if len(study.domains) > 1 and not domains:
                fault = Text("Tick at least one domain.")
            names.extend(dict.fromkeys(name for line in typed.splitlines() if (name := plain_name(line))))
            too_long = any(len(name or "") > LONGEST_ID for name in names)
            if not 0 < len(names) <= MOST_LINKS or too_long:
                fault = Text("Give 1 to 1,000 names of at most 200 characters.")
        else:
            count = field(form, "count").strip()
            number = int(count) if count.isascii() and count.isdigit() and len(count) < 10 else 0
            names.extend([None] * min(number, MOST_LINKS))
            if not 0 < number <= MOST_LINKS:
                fault = Text("Give a number from 1 to 1,000.")
        if fault is not None:
            return await listed_page(request, study, fault=fault, typed=typed, ticked=domains)
        secret = site.cookies.secret_of(f"invitations {study.key} {once}")
        codes = [_code(secret, at) for at in range(len(names))]
        made = await views.act(
            request, study, lambda author: author.invite(names, codes=codes, domains=domains)
        )
        links = [(name, f"{request.base_url}i/{code}") for name, code in made]
        return await views.page(
            request, "author_links.html.j2", study=study, current="invitations", links=links
        )

    async def change(request: Request, key: str, act: Callable[[AuthorActions, str], bool]) -> Response:
        """Do something with the invitation that a form names; a repeated form changes nothing."""
        study, form = site.study(key), await form_of(request, site.cookies)
        hashed = plain_name(field(form, "invitation"))
        await views.act(request, study, lambda author: act(author, hashed))
        return RedirectResponse(f"{HOME}{study.key}/invitations", 303)

    @router.post("/revoke")
    async def revoked(request: Request, key: str) -> Response:
        return await change(request, key, AuthorActions.revoke)

    @router.post("/erase")
    async def erased(request: Request, key: str) -> Response:
        response = await change(request, key, AuthorActions.erase_name)
        await asyncio.to_thread(drop_remnants, site.engine)
        return response

    return router


def author_people_routes(views: AuthorViews) -> APIRouter:
    """Return the routes of the table of people and of the pages about one person."""
    router = _router(views, "/people")
    site = views.site

    @router.get("")
    async def people(request: Request, key: str) -> Response:
        study, asked = site.study(key), request.query_params
        figures = await site.live.figures(study)
        columns = people_columns(figures.currency)
        by = asked.get("sort", "answers")
        by = by if by in columns else "answers"
        descending = asked.get("order", "desc" if by == "answers" else "asc") == "desc"
        found = sorted_people(figures.collected.people, columns[by].value, descending=descending)
        pages = max(1, ceil(len(found) / PEOPLE_OF_A_PAGE))
        page = min(max(1, _number(request, "page") or 1), pages)
        return await views.page(
            request,
            "author_people.html.j2",
            study=study,
            current="people",
            at=figures.at,
            columns=columns,
            by=by,
            descending=descending,
            people=found[(page - 1) * PEOPLE_OF_A_PAGE : page * PEOPLE_OF_A_PAGE],
            page=page,
            pages=pages,
        )

    async def person_page(
        request: Request,
        key: str,
        pseudonym: str,
        template: str = "author_person.html.j2",
        *,
        fault: Text | None = None,
        typed: str = "",
    ) -> Response:
        study = site.study(key)
        found = await site.read(lambda connection: person_details(connection, study, pseudonym))
        if found is None:
            raise RefusedRequestError(404, "not_found")
        people = (await site.live.figures(study)).collected.people
        flag = next((one.flag for one in people if one.person.id == found.person.id), None)
        return await views.page(
            request, template, study=study, current="people", status=422 if fault else 200, person=found.person,
            found=found, flag=flag, fault=fault, typed=typed, longest=LONGEST_REASON,
        )  # fmt: skip

    async def change(
        request: Request, key: str, act: Callable[[AuthorActions], object], page: str
    ) -> Response:
        study = site.study(key)
        if await views.act(request, study, act) is None:
            raise RefusedRequestError(404, "not_found")
        return RedirectResponse(f"{HOME}{study.key}/{page}", 303)

    @router.get("/{pseudonym}")
    async def person(request: Request, key: str, pseudonym: Pseudonym) -> Response:
        return await person_page(request, key, pseudonym)

    @router.post("/{pseudonym}/exclude")
    async def excluded(request: Request, key: str, pseudonym: Pseudonym) -> Response:
        reason = field(await form_of(request, site.cookies), "reason")
        try:
            return await change(
                request, key, lambda author: author.exclude(pseudonym, reason), f"people/{pseudonym}"
            )
        except UsageError:
            fault = Text("Give a reason of at most 1,000 characters.")
            return await person_page(request, key, pseudonym, fault=fault, typed=reason)

    @router.post("/{pseudonym}/reinstate")
    async def reinstated(request: Request, key: str, pseudonym: Pseudonym) -> Response:
        await form_of(request, site.cookies)
        return await change(request, key, lambda author: author.reinstate(pseudonym), f"people/{pseudonym}")

    @router.get("/{pseudonym}/erase")
    async def confirm(request: Request, key: str, pseudonym: Pseudonym) -> Response:
        return await person_page(request, key, pseudonym, "author_erase.html.j2")

    @router.post("/{pseudonym}/erase")
    async def erased(request: Request, key: str, pseudonym: Pseudonym) -> Response:
        await form_of(request, site.cookies)
        response = await change(request, key, lambda author: author.erase(pseudonym), "log")
        await asyncio.to_thread(drop_remnants, site.engine)
        return response

    return router


def _router(views: AuthorViews, path: str) -> APIRouter:
    """Return a router for pages of a study that only its author may see."""
    return APIRouter(
        prefix=f"{HOME}{{key}}{path}",
        default_response_class=HTMLResponse,
        dependencies=[Depends(views.signed_in)],
    )


def _number(request: Request, name: str) -> int | None:
    """Return a parameter of the address that is a whole number; `None` if it is missing or anything else."""
    given = request.query_params.get(name, "")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 10 else None


def _code(secret: bytes, at: int) -> str:
    """The code of one link of a form.

    It follows from the form, so that a form that is sent twice makes its links once.
    """
    left = int.from_bytes(hmac.digest(secret, str(at).encode(), "sha256"))

    def choose(letters: str) -> str:
        nonlocal left
        left, rest = divmod(left, len(letters))
        return letters[rest]

    return new_code(choose)

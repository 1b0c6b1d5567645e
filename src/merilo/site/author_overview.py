"""The author's overview with live figures, the table of people, and the estimate that is hidden until it is asked for."""

from __future__ import annotations

from math import ceil
from typing import Final

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response, StreamingResponse

from merilo.site.audit_log import record
from merilo.site.author_views import HOME, AuthorViews
from merilo.site.collected_figures import SORTED_BY, sorted_people
from merilo.site.hidden_estimate import AskedEstimates, HiddenEstimate
from merilo.site.overview_texts import CHART, overview_texts, person_row, written
from merilo.site.overview_words import overview_words
from merilo.site.served_study import ServedStudy
from merilo.site.site_requests import form_of

#: People on one page of the table.
PEOPLE_OF_A_PAGE: Final = 100


def author_overview_routes(views: AuthorViews) -> APIRouter:
    """Return the routes of the overview, the table of people, the live figures and the estimate."""
    router = APIRouter(default_response_class=HTMLResponse, dependencies=[Depends(views.signed_in)])
    site = views.site
    estimates = AskedEstimates(site.engine, site.estimator)

    @router.get(f"{HOME}{{key}}/")
    async def overview(request: Request, key: str) -> Response:
        study, language = site.study(key), views.language(request)
        figures = await site.live.figures(study)
        return await views.page(
            request, "author_overview.html.j2", study=study, current="overview", chart=CHART, at=figures.at,
            figures=overview_texts(figures, language), texts=overview_words(language),
        )  # fmt: skip

    @router.get(f"{HOME}{{key}}/people")
    async def people(request: Request, key: str) -> Response:
        return await _people(views, request, site.study(key))

    @router.get(f"{HOME}{{key}}/live", response_class=StreamingResponse)
    async def live(request: Request, key: str) -> Response:
        study, language = site.study(key), views.language(request)

        async def allowed() -> bool:
            return not await request.is_disconnected() and await views.has_session(request)

        events = site.live.events(study, language, allowed)
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(events, media_type="text/event-stream", headers=headers)

    @router.get(f"{HOME}{{key}}/estimate")
    async def ask(request: Request, key: str) -> Response:
        return await _estimate_page(views, request, site.study(key), None)

    @router.post(f"{HOME}{{key}}/estimate")
    async def show(request: Request, key: str) -> Response:
        study, now = site.study(key), site.clock.now()
        await form_of(request, site.cookies)
        await site.write(
            lambda connection: record(connection, study.rules.study, now, "author", "estimate_shown")
        )
        return await _estimate_page(views, request, study, await estimates.compute(study))

    return router


async def _people(views: AuthorViews, request: Request, study: ServedStudy) -> Response:
    language = views.language(request)
    figures = await views.site.live.figures(study)
    asked = request.query_params
    by = asked.get("sort", "answers")
    by = by if by in SORTED_BY else "answers"
    descending = asked.get("order", "desc" if by == "answers" else "asc") == "desc"
    found = sorted_people(figures.collected.people, by, descending=descending)
    pages = max(1, ceil(len(found) / PEOPLE_OF_A_PAGE))
    number = asked.get("page", "1")
    page = min(max(1, int(number)), pages) if number.isascii() and number.isdecimal() and len(number) < 6 else 1  # fmt: skip
    shown = found[(page - 1) * PEOPLE_OF_A_PAGE : page * PEOPLE_OF_A_PAGE]
    return await views.page(
        request, "author_people.html.j2", study=study, current="people", texts=overview_words(language), columns=SORTED_BY, by=by,
        descending=descending, page=page, pages=pages, people=len(found), at=figures.at,
        rows=[person_row(one, language) for one in shown], currency=figures.currency,
    )  # fmt: skip


async def _estimate_page(
    views: AuthorViews, request: Request, study: ServedStudy, made: HiddenEstimate | None
) -> Response:
    language = views.language(request)

    def number(value: float | None, digits: int = 4) -> str:
        return ("—" if language == "ru" else "–") if value is None else written(value, digits, language)

    return await views.page(
        request, "author_estimate.html.j2", study=study, current="overview", texts=overview_words(language), made=made, number=number
    )  # fmt: skip

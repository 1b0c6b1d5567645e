"""The author's pages about a study: pausing it, invitations, the audit log, and tables to download."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Sequence
from typing import Final

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy import Connection

from merilo.site.answer_export import collect_answers
from merilo.site.audit_log import PAGE, Deed, events, record
from merilo.site.author_actions import erase_name, invite, revoke, set_paused
from merilo.site.author_reads import comments_table, listed_invitations
from merilo.site.author_views import HOME, AuthorViews, local_path, plain_name
from merilo.site.database import drop_remnants
from merilo.site.people_access import LONGEST_ID, new_code
from merilo.site.served_study import ServedStudy
from merilo.site.site_requests import field, form_of

#: Links that are made at once.
MOST_LINKS: Final = 1000


def author_study_routes(views: AuthorViews) -> APIRouter:
    """Return the routes of pausing, invitations, the log and tables."""
    router = APIRouter(
        prefix=f"{HOME}{{key}}",
        default_response_class=HTMLResponse,
        dependencies=[Depends(views.signed_in)],
    )
    _add_invitations(router, views)
    _add_tables(router, views)
    site = views.site

    @router.post("/pause")
    async def pause(request: Request, key: str) -> Response:
        return await _set_paused(views, request, key, paused=True)

    @router.post("/resume")
    async def resume(request: Request, key: str) -> Response:
        return await _set_paused(views, request, key, paused=False)

    @router.get("/log")
    async def log(request: Request, key: str) -> Response:
        study, given = site.study(key), request.query_params.get("before", "")
        before = int(given) if given.isascii() and given.isdigit() and len(given) < 10 else None
        found = await views.read(
            lambda connection: events(connection, study.rules.study, before=before, most=PAGE + 1)
        )
        return await views.page(
            request, "author_log.html.j2", study=study, current="log", events=found[:PAGE], newest=before is None,
            older=found[PAGE - 1].id if len(found) > PAGE else None,
        )  # fmt: skip

    return router


def _add_invitations(router: APIRouter, views: AuthorViews) -> None:
    site = views.site

    @router.get("/invitations")
    async def invitations(request: Request, key: str) -> Response:
        return await _invitations_page(views, request, site.study(key))

    @router.post("/invitations")
    async def invited(request: Request, key: str) -> Response:
        study, form, now = site.study(key), await form_of(request, site.cookies), site.clock.now()
        once, typed = field(form, "once"), field(form, "names")
        names: list[str | None] = []
        if study.by_invitation:
            names.extend(dict.fromkeys(name for line in typed.splitlines() if (name := plain_name(line))))
            too_long = any(len(name or "") > LONGEST_ID for name in names)
            fault = "" if 0 < len(names) <= MOST_LINKS and not too_long else "names_fault"
        else:
            count = field(form, "count").strip()
            number = int(count) if count.isascii() and count.isdigit() and len(count) < 10 else 0
            names.extend([None] * min(number, MOST_LINKS))
            fault = "" if 0 < number <= MOST_LINKS else "count_fault"
        domains = [name for name in study.domains if name in form.get("domain", ())]
        if not fault and study.by_invitation and len(study.domains) > 1 and not domains:
            fault = "domains_fault"
        if fault or not once:
            return await _invitations_page(
                views, request, study, fault=fault or "old_form_text", typed=typed, ticked=domains
            )
        secret = site.cookies.secret_of(f"invitations {study.key} {once}")
        codes = [_code(secret, at) for at in range(len(names))]
        made = await site.write(
            lambda connection: invite(
                connection, study, names, now=now, actor="author", codes=codes, domains=domains
            )
        )
        links = [(name, f"{request.base_url}i/{code}") for name, code in made]
        return await views.page(
            request, "author_links.html.j2", study=study, current="invitations", links=links
        )

    @router.post("/invitations/revoke")
    async def revoked(request: Request, key: str) -> Response:
        return await _with_invitation(views, request, key, revoke)

    @router.post("/invitations/erase")
    async def erased(request: Request, key: str) -> Response:
        response = await _with_invitation(views, request, key, erase_name)
        await views.in_thread(lambda: drop_remnants(site.engine))
        return response


def _add_tables(router: APIRouter, views: AuthorViews) -> None:
    site = views.site

    @router.get("/export")
    async def export(request: Request, key: str) -> Response:
        study = site.study(key)
        made = await views.read(lambda connection: collect_answers(connection, study))
        return await views.page(request, "author_export.html.j2", study=study, current="export", made=made)

    @router.get("/answers.csv", response_class=Response)
    async def answers(request: Request, key: str) -> Response:
        study = site.study(key)
        made = await views.read(lambda connection: collect_answers(connection, study))
        return await _table(views, study, "answers", "answers_exported", made.table)

    @router.get("/comments.csv", response_class=Response)
    async def comments(request: Request, key: str) -> Response:
        study = site.study(key)
        made = await views.read(lambda connection: comments_table(connection, study))
        return await _table(views, study, "comments", "comments_exported", made)


async def _set_paused(views: AuthorViews, request: Request, key: str, *, paused: bool) -> Response:
    study, form = views.site.study(key), await form_of(request, views.site.cookies)
    now = views.site.clock.now()
    await views.site.write(
        lambda connection: set_paused(connection, study, now=now, actor="author", paused=paused)
    )
    return RedirectResponse(local_path(field(form, "next")), 303)


async def _invitations_page(
    views: AuthorViews,
    request: Request,
    study: ServedStudy,
    *,
    fault: str = "",
    typed: str = "",
    ticked: Sequence[str] = (),
) -> Response:
    given = request.query_params.get("page", "")
    page = max(1, int(given)) if given.isascii() and given.isdigit() and len(given) < 7 else 1
    listed, pages = await views.read(lambda connection: listed_invitations(connection, study, page))
    return await views.page(
        request, "author_invitations.html.j2", study=study, current="invitations", status=422 if fault else 200, fault=fault, typed=typed,
        ticked=ticked, listed=listed, number=page, pages=pages, once=secrets.token_urlsafe(24), most=MOST_LINKS,
    )  # fmt: skip


async def _with_invitation(
    views: AuthorViews, request: Request, key: str, act: Callable[..., bool]
) -> Response:
    """Do something with the invitation that a form names; a repeated form changes nothing."""
    study, form = views.site.study(key), await form_of(request, views.site.cookies)
    hashed, now = plain_name(field(form, "invitation")), views.site.clock.now()

    def run(connection: Connection) -> bool:
        return act(connection, study, hashed, now=now, actor="author")

    await views.site.write(run)
    return RedirectResponse(f"{HOME}{study.key}/invitations", 303)


async def _table(views: AuthorViews, study: ServedStudy, name: str, deed: Deed, text: str) -> Response:
    now = views.site.clock.now()
    await views.site.write(lambda connection: record(connection, study.rules.study, now, "author", deed))
    headers = {"Content-Disposition": f'attachment; filename="{name}-{study.key}.csv"'}
    return Response(text.encode(), media_type="text/csv; charset=utf-8", headers=headers)


def _code(secret: bytes, at: int) -> str:
    """The code of one link of a form. It follows from the form, so that a form that is sent twice makes its links once."""
    left = int.from_bytes(hmac.digest(secret, str(at).encode(), "sha256"))

    def choose(letters: str) -> str:
        nonlocal left
        left, rest = divmod(left, len(letters))
        return letters[rest]

    return new_code(choose)

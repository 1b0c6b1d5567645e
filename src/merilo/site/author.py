"""The author's page of a study, which one secret link opens: status, people, invitations, tables to download."""

from __future__ import annotations

import asyncio
import hmac
import os
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, Literal, TypeAlias, TypeVar
from urllib.parse import urlencode

from itsdangerous import BadSignature, TimestampSigner
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from merilo.errors import UsageError
from merilo.site.annotation_site import AnnotationSite
from merilo.site.answer_export import (
    collect_answers,
    collected_rows,
    count_people,
    paid_people,
    people_table,
    read_answers,
)
from merilo.site.author_actions import (
    DEEDS,
    LONGEST_REASON,
    ORDERS,
    SECRET_HEADER,
    AuthorActions,
    carry_out,
    comments_table,
    log_table,
    open_invitations,
)
from merilo.site.overview_texts import CHART, SOURCES, STAGES, overview_texts
from merilo.site.people_access import LONGEST_ID, new_code
from merilo.site.served_study import ServedStudy
from merilo.site.site_requests import (
    RefusedRequestError,
    browser_language,
    cookie_of,
    field,
    form_of,
    set_cookie,
)
from merilo.site.state import State
from merilo.site.status import Statuses, Worker, site_status
from merilo.text import Language, Text, formatted

#: The environment variable that sets the secret of the author's link, in place of an earlier one.
LINK_VARIABLE: Final = "MERILO_AUTHOR_SECRET"

#: The path of the author's pages; the link has the secret after it.
HOME: Final = "/author/"

#: The cookie of a browser that opened the link, and the seconds that it lasts.
COOKIE: Final = "merilo_author"
COOKIE_LIFETIME: Final = 60 * 60 * 24 * 30

#: The cookie with the language that the author chose.
LANGUAGE_COOKIE: Final = "merilo_author_language"

#: Seconds after which the page reloads itself.
RELOAD: Final = 30

#: Links that are made at once.
MOST_LINKS: Final = 1000

#: People and invitations that the page lists without being asked for all.
LISTED: Final = 200

Result = TypeVar("Result")


def author_secret(stored: str | None) -> str:
    """Return the secret of the author's link: that of the environment, or the stored one, or a new one.

    Raises:
        UsageError: the environment variable has a secret that could be guessed, or that no link can have.
    """
    from_environment = os.environ.get(LINK_VARIABLE)
    if from_environment and not re.fullmatch(r"[A-Za-z0-9_-]{20,200}", from_environment):
        raise UsageError(
            f"{LINK_VARIABLE} must have 20 to 200 letters of the English alphabet, digits, '-' and '_'"
        )
    return from_environment or stored or secrets.token_urlsafe(32)


def plain_text(text: str) -> str:
    r"""Return a text without NUL characters, which PostgreSQL takes in no text, and with single spaces.

    Example:
        >>> plain_text("  Anna\0  P. ")
        'Anna P.'
    """
    return " ".join(text.replace("\0", "").split())


#: What answers a request of the author about a study.
_Answer: TypeAlias = Callable[[Request, ServedStudy], Awaitable[Response]]

#: Name of a column by which people are sorted -> the value, and whether small values come first; a person without
#: a value comes last.
_ORDERS: Final[Mapping[str, tuple[Callable[[Worker], Any], bool]]] = {
    "answers": (lambda worker: worker.answers, False),
    "controls": (lambda worker: worker.controls_right / worker.controls if worker.controls else None, True),
    "seconds": (lambda worker: worker.seconds, True),
    "state": (lambda worker: worker.stage, True),
    "seen": (lambda worker: worker.last_seen, False),
}


class AuthorViews:
    """The author's side of a server process.

    Args:
        site: the server process; without a secret it has no author's page.
    """

    def __init__(self, site: AnnotationSite) -> None:
        self.site = site
        self.statuses = Statuses(site)
        secret = site.author_secret or secrets.token_urlsafe(32)
        self._secret = secret.encode()
        self._signer = TimestampSigner(secret, salt="author", digest_method=sha256)

    def enter(self, request: Request, secret: str) -> Response:
        """Give the cookie to a browser that knows the secret, and send it to an address without the secret.

        A page sends it there, and not a redirect: a browser that follows a link of another site would not send the
        cookie after a redirect.
        """
        if not hmac.compare_digest(self._secret, secret.encode("utf-8", "replace")):
            raise RefusedRequestError(404, "not_found")
        language = self.language(request)
        response = self.site.rendered(request, "author_enter.html.j2", language, status=200, home=HOME)
        response.headers["Referrer-Policy"] = "no-referrer"  # the page sends no forms, which need an origin
        cookie = self._signer.sign("author").decode()
        set_cookie(request, response, COOKIE, cookie, seconds=COOKIE_LIFETIME, samesite="strict")
        return response

    def allowed(self, request: Request) -> None:
        """Answer a browser that has not opened the link as if there were no such page."""
        try:
            _, signed = self._signer.unsign(cookie_of(request, COOKIE), return_timestamp=True)
        except BadSignature:
            raise RefusedRequestError(404, "not_found") from None
        if time.time() - signed.timestamp() > COOKIE_LIFETIME:
            raise RefusedRequestError(404, "not_found")

    def language(self, request: Request) -> Language:
        """Return the language that the author chose, or the browser's."""
        chosen = cookie_of(request, LANGUAGE_COOKIE)
        return chosen if chosen in {"en", "ru"} else browser_language(request)  # type: ignore[return-value]  # checked

    async def act(self, study: ServedStudy, action: Callable[[AuthorActions], Result]) -> Result:
        """Do something with a study in the author's name."""
        now = self.site.clock.now()
        done = await self.site.act(lambda: action(AuthorActions(self.site.states[study.key], now, "author")))
        self.statuses.forget(study)
        return done

    async def page(
        self,
        request: Request,
        study: ServedStudy,
        *,
        opened: Literal["", "invite", "person", "links", "estimate"] = "",
        pseudonym: str = "",
        fault: Text | None = None,
        **content: Any,  # noqa: ANN401 - whatever the form shows
    ) -> Response:
        """Return the page of a study.

        Args:
            request: the request.
            study: the study.
            opened: the form or result that the page shows beside the status; then the page does not reload itself.
            pseudonym: the person about whom a form is.
            fault: what was wrong in the form.
            content: what else the form or result shows.
        """
        status, language = await self.statuses.of(study), self.language(request)
        invitations = await self.site.act(lambda: open_invitations(self.site.states[study.key]))
        asked = {
            name: request.query_params[name]
            for name in ("sort", "all", "still")
            if name in request.query_params
        }
        person = next((worker for worker in status.people if worker.pseudonym == pseudonym), None)
        if opened == "person" and person is None:
            raise RefusedRequestError(404, "not_found")

        def number(value: float | None, digits: int = 0) -> str:
            return "–" if value is None else formatted(float(value), f",.{digits}f", language)

        def address(**more: str) -> str:
            query = urlencode({name: value for name, value in {**asked, **more}.items() if value})
            return f"{HOME}{study.key}/{'?' if query else ''}{query}"

        by = asked.get("sort", "") if asked.get("sort") in _ORDERS else "answers"
        people = _sorted(status.people, by)
        return self.site.rendered(
            request,
            "author.html.j2",
            language,
            status=422 if fault else 200,
            study=study,
            studies=self.site.studies,
            base=f"{HOME}{study.key}",
            site_status=status,
            figures=overview_texts(status, language),
            chart=CHART,
            reload=None if opened or "still" in request.query_params else RELOAD,
            opened=opened,
            people=people if "all" in asked else people[:LISTED],
            by=by,
            person=person,
            invitations=invitations if "all" in asked else invitations[:LISTED],
            waiting=len(invitations),
            fault=fault,
            address=address,
            number=number,
            stages=STAGES,
            sources=SOURCES,
            once=secrets.token_urlsafe(24),
            most=MOST_LINKS,
            longest=LONGEST_REASON,
            **content,
        )


def _sorted(people: Sequence[Worker], by: str) -> list[Worker]:
    """Sort people by a column; those without a value come last."""
    value, rising = _ORDERS[by]
    known = [worker for worker in people if value(worker) is not None]
    rest = [worker for worker in people if value(worker) is None]
    return sorted(known, key=value, reverse=not rising) + rest


def author_routes(site: AnnotationSite) -> list[Route]:
    """Return the routes of the author's link and pages, and of what commands ask while this server runs."""
    views = AuthorViews(site)

    async def enter(request: Request) -> Response:
        return views.enter(request, request.path_params["secret"])

    async def home(request: Request) -> Response:
        views.allowed(request)
        return RedirectResponse(f"{HOME}{site.studies[0].key}/", 303)

    async def orders(request: Request) -> Response:
        secret = request.headers.get(SECRET_HEADER, "")
        if site.author_secret is None or not hmac.compare_digest(
            site.author_secret.encode(), secret.encode()
        ):
            raise RefusedRequestError(404, "not_found")
        order, now = await request.json(), site.clock.now()
        try:
            result = await site.act(lambda: carry_out([*site.states.values()], order, now))
        except UsageError as error:
            return JSONResponse({"error": error.on_command_line}, status_code=422)
        for study in site.studies:
            views.statuses.forget(study)
        return JSONResponse(result)

    def inside(answer: _Answer) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            views.allowed(request)
            return await answer(request, site.study(request.path_params["key"]))

        return endpoint

    answers = {**_page_answers(views), **_people_answers(views), ("GET", "/{name}"): _table_answer(views)}
    return [
        Route(ORDERS, orders, methods=["POST"]),
        Route(f"{HOME}{{secret}}", enter),
        Route(HOME, home),
        *(
            Route(f"{HOME}{{key}}{path}", inside(answer), methods=[method])
            for (method, path), answer in answers.items()
        ),
    ]


def _page_answers(views: AuthorViews) -> dict[tuple[str, str], _Answer]:
    """Method and path of the page and of what its forms about the study do -> what answers."""
    site = views.site
    one_at_a_time = asyncio.Lock()

    async def language(request: Request, study: ServedStudy) -> Response:
        form = await form_of(request, site.cookies)
        response = _back_to(study)
        chosen = "en" if field(form, "language") == "en" else "ru"
        set_cookie(request, response, LANGUAGE_COOKIE, chosen)
        return response

    async def page(request: Request, study: ServedStudy) -> Response:
        asked = request.query_params
        if "person" in asked:
            return await views.page(request, study, opened="person", pseudonym=asked["person"], typed="")
        if "invite" in asked:
            return await views.page(request, study, opened="invite", typed="", ticked=())
        return await views.page(request, study)

    async def estimate(request: Request, study: ServedStudy) -> Response:
        now = site.clock.now()
        await form_of(request, site.cookies)
        await views.act(study, lambda author: author.record("estimate_shown"))

        async with one_at_a_time:
            status = await site.read(study, lambda state: site_status(state, now, estimate=True))
        return await views.page(request, study, opened="estimate", seen=status.status)

    def set_paused(*, paused: bool) -> _Answer:
        async def answer(request: Request, study: ServedStudy) -> Response:
            await form_of(request, site.cookies)
            await views.act(study, lambda author: author.set_paused(paused=paused))
            return _back_to(study)

        return answer

    return {
        ("POST", "/language"): language,
        ("GET", "/"): page,
        ("POST", "/estimate"): estimate,
        ("POST", "/pause"): set_paused(paused=True),
        ("POST", "/resume"): set_paused(paused=False),
    }


def _people_answers(views: AuthorViews) -> dict[tuple[str, str], _Answer]:
    """Method and path of what the author does with people and invitations -> what answers."""
    site = views.site

    async def again(request: Request, study: ServedStudy, fault: Text, typed: str = "") -> Response:
        person = _pseudonym(request)
        return await views.page(request, study, opened="person", pseudonym=person, fault=fault, typed=typed)

    async def change(study: ServedStudy, act: Callable[[AuthorActions], object]) -> Response:
        if await views.act(study, act) is None:
            raise RefusedRequestError(404, "not_found")
        return _back_to(study, "#table")

    async def exclude(request: Request, study: ServedStudy) -> Response:
        reason = field(await form_of(request, site.cookies), "reason")
        try:
            return await change(study, lambda author: author.exclude(_pseudonym(request), reason))
        except UsageError:
            fault = Text("Give a reason of at most 1,000 characters.")
            return await again(request, study, fault, reason)

    async def reinstate(request: Request, study: ServedStudy) -> Response:
        await form_of(request, site.cookies)
        return await change(study, lambda author: author.reinstate(_pseudonym(request)))

    async def erase(request: Request, study: ServedStudy) -> Response:
        if not field(await form_of(request, site.cookies), "sure"):
            return await again(request, study, Text("Erasing cannot be undone: tick the box to confirm it."))
        return await change(study, lambda author: author.erase(_pseudonym(request)))

    async def invite(request: Request, study: ServedStudy) -> Response:
        form = await form_of(request, site.cookies)
        names, domains, fault = _invited(study, form)
        if fault is not None:
            return await views.page(
                request, study, opened="invite", fault=fault, typed=field(form, "names"), ticked=domains
            )
        secret = site.cookies.secret_of(f"invitations {study.key} {field(form, 'once')}")
        codes = [_code(secret, at) for at in range(len(names))]
        invitations = await views.act(
            study, lambda author: author.invite(names, codes=codes, domains=domains)
        )
        links = [(name, f"{request.base_url}i/{code}") for name, code in invitations]
        return await views.page(request, study, opened="links", links=links)

    async def revoke(request: Request, study: ServedStudy) -> Response:
        form = await form_of(request, site.cookies)
        hashed = plain_text(field(form, "invitation"))
        await views.act(study, lambda author: author.revoke(hashed))
        return _back_to(study, "?invite=1#invite")

    return {
        ("POST", "/people/{pseudonym}/exclude"): exclude,
        ("POST", "/people/{pseudonym}/reinstate"): reinstate,
        ("POST", "/people/{pseudonym}/erase"): erase,
        ("POST", "/invitations"): invite,
        ("POST", "/invitations/revoke"): revoke,
    }


def _table_answer(views: AuthorViews) -> _Answer:
    """What answers with a table to download."""
    site = views.site
    tables: Mapping[str, Callable[[State], str]] = {
        "answers.csv": lambda state: collect_answers(state).table,
        "answers.jsonl": lambda state: collected_rows(state, read_answers(state)).write_ndjson(),
        "people.csv": paid_people,
        "counts.csv": lambda state: people_table(state.study, count_people(state, site.clock.now())),
        "comments.csv": comments_table,
        "log.csv": lambda state: log_table(state, site.journal.events(state.study.key, DEEDS)),
    }

    async def table(request: Request, study: ServedStudy) -> Response:
        name = request.path_params["name"]
        if name not in tables:
            raise RefusedRequestError(404, "not_found")
        await views.act(study, lambda author: author.record("downloaded", table=name))
        content = await site.read(study, tables[name])
        stem, suffix = name.split(".")
        kind = "text/csv" if suffix == "csv" else "application/jsonl"
        headers = {"Content-Disposition": f'attachment; filename="{stem}-{study.key}.{suffix}"'}
        return Response(content.encode(), media_type=f"{kind}; charset=utf-8", headers=headers)

    return table


def _back_to(study: ServedStudy, part: str = "") -> Response:
    return RedirectResponse(f"{HOME}{study.key}/{part}", 303)


def _pseudonym(request: Request) -> str:
    """Return the person in the address of a page."""
    return plain_text(request.path_params["pseudonym"])


def _invited(
    study: ServedStudy, form: Mapping[str, Sequence[str]]
) -> tuple[list[str | None], list[str], Text | None]:
    """Read the form of invitations: names, `None` for a link without one; domains; and what is wrong in the form."""
    fault = None if field(form, "once") else Text("Go back, reload the page and try again.")
    if not study.by_invitation:
        count = field(form, "count").strip()
        number = int(count) if count.isascii() and count.isdigit() and len(count) < 10 else 0
        if not 0 < number <= MOST_LINKS:
            fault = Text("Give a number from 1 to 1,000.")
        return [None] * min(number, MOST_LINKS), [], fault
    domains = [name for name in study.domains if name in form.get("domain", ())]
    if len(study.domains) > 1 and not domains:
        fault = Text("Tick at least one domain.")
    names = [*dict.fromkeys(name for line in field(form, "names").splitlines() if (name := plain_text(line)))]
    if not 0 < len(names) <= MOST_LINKS or any(len(name) > LONGEST_ID for name in names):
        fault = Text("Give 1 to 1,000 names of at most 200 characters.")
    return [*names], domains, fault


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

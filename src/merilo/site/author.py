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
    paid_people,
    people_counts,
    read_answers,
)
from merilo.site.author_actions import (
    DEEDS,
    LONGEST_REASON,
    ORDERS,
    SECRET_HEADER,
    AuthorActions,
    Change,
    carry_out,
    comments_table,
    log_table,
    open_invitations,
)
from merilo.site.overview_texts import CHART, SOURCES, STAGES, chart_points, duration, overview_texts
from merilo.site.people_access import LONGEST_ID, new_code
from merilo.site.served_study import ServedStudy
from merilo.site.site_requests import (
    Form,
    RefusedRequestError,
    browser_language,
    cookie_of,
    field,
    form_of,
    set_cookie,
)
from merilo.site.state import State
from merilo.site.status import Statuses, Worker, site_status
from merilo.text import LANGUAGES, Language, Money, Text, formatted

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


#: What answers a request about a study; the form is empty where none is sent.
_Page: TypeAlias = Callable[[Request, ServedStudy, Form], Awaitable[Response]]

#: Name of a column by which people are sorted -> the value, and whether small values come first; a person without
#: a value comes last.
_ORDERS: Final[Mapping[str, tuple[Callable[[Worker], Any], bool]]] = {
    "answers": (lambda worker: worker.person.answers, False),
    "controls": (
        lambda worker: (
            worker.person.controls_right / worker.person.controls if worker.person.controls else None
        ),
        True,
    ),
    "seconds": (lambda worker: worker.seconds, True),
    "state": (lambda worker: worker.person.stage, True),
    "seen": (lambda worker: worker.person.last_seen, False),
}


#: What the template takes from here at every look.
_FIXED: Final[Mapping[str, Any]] = {
    "duration": duration, "chart": CHART, "stages": STAGES, "sources": SOURCES, "most": MOST_LINKS,
    "longest": LONGEST_REASON,
}  # fmt: skip


class AuthorPages:
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
        self._one_at_a_time = asyncio.Lock()

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
        offered = tuple(dict.fromkeys((*self.site.languages, *LANGUAGES)))
        return next((name for name in offered if name == chosen), browser_language(request, offered))

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
        people = [worker.person for worker in status.people]
        person = next((person for person in people if person.pseudonym == pseudonym), None)
        if opened == "person" and person is None:
            raise RefusedRequestError(404, "not_found")

        def number(value: float | None, digits: int = 0) -> str:
            return "–" if value is None else formatted(float(value), f",.{digits}f", language)

        def address(**more: str) -> str:
            query = urlencode({name: value for name, value in {**asked, **more}.items() if value})
            return f"{HOME}{study.key}/{'?' if query else ''}{query}"

        by = asked.get("sort", "") if asked.get("sort") in _ORDERS else "answers"
        workers = _sorted(status.people, by)
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
            points=chart_points(status),
            currency=lambda amount: Money(amount, study.arm.pay.currency),
            shown=lambda value: formatted(value, "", language),
            reload=None if opened or "still" in request.query_params else RELOAD,
            opened=opened,
            people=workers if "all" in asked else workers[:LISTED],
            by=by,
            person=person,
            invitations=invitations if "all" in asked else invitations[:LISTED],
            waiting=len(invitations),
            fault=fault,
            address=address,
            number=number,
            once=secrets.token_urlsafe(24),
            **_FIXED,
            **content,
        )

    async def overview(self, request: Request, study: ServedStudy, _: Form) -> Response:
        """Return the page of a study; with the form of invitations or about a person if the address asks for it."""
        asked = request.query_params
        if "person" in asked:
            return await self.page(request, study, opened="person", pseudonym=asked["person"], typed="")
        if "invite" in asked:
            return await self.page(request, study, opened="invite", typed="", ticked=())
        return await self.page(request, study)

    async def choose_language(self, request: Request, study: ServedStudy, form: Form) -> Response:
        """Show the page in another language from now on."""
        response = _to_page(study)
        set_cookie(request, response, LANGUAGE_COOKIE, "en" if field(form, "language") == "en" else "ru")
        return response

    async def estimate(self, request: Request, study: ServedStudy, _: Form) -> Response:
        """Show the estimate and record it; one is computed at a time."""
        now = self.site.clock.now()
        await self.act(study, lambda author: author.record("estimate_shown"))
        async with self._one_at_a_time:
            status = await self.site.read(study, lambda state: site_status(state, now, estimate=True))
        return await self.page(request, study, opened="estimate", seen=status.status)

    async def pause(self, _: Request, study: ServedStudy, __: Form) -> Response:
        """Pause the study."""
        await self.act(study, lambda author: author.set_paused(paused=True))
        return _to_page(study)

    async def resume(self, _: Request, study: ServedStudy, __: Form) -> Response:
        """Resume the study."""
        await self.act(study, lambda author: author.set_paused(paused=False))
        return _to_page(study)

    async def exclude(self, request: Request, study: ServedStudy, form: Form) -> Response:
        """Exclude a person; without a good reason, the form comes again."""
        reason = field(form, "reason")
        try:
            return await self._change(request, study, lambda author, name: author.exclude(name, reason))
        except UsageError:
            fault = Text("Give a reason of at most 1,000 characters.")
            return await self.page(
                request, study, opened="person", pseudonym=_person(request), fault=fault, typed=reason
            )

    async def reinstate(self, request: Request, study: ServedStudy, _: Form) -> Response:
        """Reinstate a person."""
        return await self._change(request, study, AuthorActions.reinstate)

    async def erase(self, request: Request, study: ServedStudy, form: Form) -> Response:
        """Erase a person, if the author has ticked that they are sure."""
        if field(form, "sure"):
            return await self._change(request, study, AuthorActions.erase)
        fault = Text("Erasing cannot be undone: tick the box to confirm it.")
        return await self.page(
            request, study, opened="person", pseudonym=_person(request), fault=fault, typed=""
        )

    async def _change(
        self, request: Request, study: ServedStudy, deed: Callable[[AuthorActions, str], Change | None]
    ) -> Response:
        if await self.act(study, lambda author: deed(author, _person(request))) is None:
            raise RefusedRequestError(404, "not_found")
        return _to_page(study, "#table")

    async def invite(self, request: Request, study: ServedStudy, form: Form) -> Response:
        """Make invitations and show their links."""
        names, domains, fault = _invited(study, form)
        if fault is not None:
            return await self.page(
                request, study, opened="invite", fault=fault, typed=field(form, "names"), ticked=domains
            )
        secret = self.site.cookies.secret_of(f"invitations {study.key} {field(form, 'once')}")
        codes = [_code(secret, at) for at in range(len(names))]
        invitations = await self.act(study, lambda author: author.invite(names, codes=codes, domains=domains))
        links = [(name, f"{request.base_url}i/{code}") for name, code in invitations]
        return await self.page(request, study, opened="links", links=links)

    async def revoke(self, _: Request, study: ServedStudy, form: Form) -> Response:
        """Revoke an invitation."""
        hashed = plain_text(field(form, "invitation"))
        await self.act(study, lambda author: author.revoke(hashed))
        return _to_page(study, "?invite=1#invite")

    async def table(self, request: Request, study: ServedStudy, _: Form) -> Response:
        """Return a table to download."""
        site, name = self.site, request.path_params["name"]
        tables: Mapping[str, Callable[[State], str]] = {
            "answers.csv": lambda state: collect_answers(state).table,
            "answers.jsonl": lambda state: collected_rows(state, read_answers(state)).write_ndjson(),
            "people.csv": paid_people,
            "counts.json": lambda state: people_counts(state, site.clock.now()),
            "comments.csv": comments_table,
            "log.csv": lambda state: log_table(state, site.journal.events(study.key, DEEDS)),
        }
        if name not in tables:
            raise RefusedRequestError(404, "not_found")
        await self.act(study, lambda author: author.record("downloaded", table=name))
        content = await site.read(study, tables[name])
        stem, suffix = name.split(".")
        kind = "text/csv" if suffix == "csv" else "application/jsonl"
        headers = {"Content-Disposition": f'attachment; filename="{stem}-{study.key}.{suffix}"'}
        return Response(content.encode(), media_type=f"{kind}; charset=utf-8", headers=headers)

    async def orders(self, request: Request) -> Response:
        """Do what commands ask for while this server writes the log."""
        site, secret = self.site, request.headers.get(SECRET_HEADER, "")
        if site.author_secret is None or not hmac.compare_digest(self._secret, secret.encode()):
            raise RefusedRequestError(404, "not_found")
        order, now = await request.json(), site.clock.now()
        try:
            result = await site.act(lambda: carry_out([*site.states.values()], order, now))
        except UsageError as error:
            return JSONResponse({"error": error.on_command_line}, status_code=422)
        for study in site.studies:
            self.statuses.forget(study)
        return JSONResponse(result)

    def routes(self) -> list[Route]:
        """Return the routes of the author's link, page, forms and tables; without the cookie only the link's."""

        async def enter(request: Request) -> Response:
            return self.enter(request, request.path_params["secret"])

        async def home(request: Request) -> Response:
            self.allowed(request)
            return _to_page(self.site.studies[0])

        of_study = [
            Route(f"{HOME}{{key}}/{path}", self._inside(answer), methods=[method])
            for (method, path), answer in self._pages().items()
        ]
        return [Route(ORDERS, self.orders, methods=["POST"]), Route(f"{HOME}{{secret}}", enter),
                Route(HOME, home), *of_study]  # fmt: skip

    def _pages(self) -> Mapping[tuple[str, str], _Page]:
        return {
            ("GET", ""): self.overview,
            ("POST", "language"): self.choose_language,
            ("POST", "estimate"): self.estimate,
            ("POST", "pause"): self.pause,
            ("POST", "resume"): self.resume,
            ("POST", "people/{pseudonym}/exclude"): self.exclude,
            ("POST", "people/{pseudonym}/reinstate"): self.reinstate,
            ("POST", "people/{pseudonym}/erase"): self.erase,
            ("POST", "invitations"): self.invite,
            ("POST", "invitations/revoke"): self.revoke,
            ("GET", "{name}"): self.table,
        }

    def _inside(self, page: _Page) -> Callable[[Request], Awaitable[Response]]:
        """Return what answers a browser with the cookie."""

        async def endpoint(request: Request) -> Response:
            self.allowed(request)
            study = self.site.study(request.path_params["key"])
            form = await form_of(request, self.site.cookies) if request.method == "POST" else {}
            return await page(request, study, form)

        return endpoint


def _to_page(study: ServedStudy, place: str = "") -> Response:
    return RedirectResponse(f"{HOME}{study.key}/{place}", 303)


def _person(request: Request) -> str:
    """The person in the address of a form."""
    return plain_text(request.path_params["pseudonym"])


def _sorted(people: Sequence[Worker], by: str) -> list[Worker]:
    """Sort people by a column; those without a value come last."""
    value, rising = _ORDERS[by]
    known = [worker for worker in people if value(worker) is not None]
    rest = [worker for worker in people if value(worker) is None]
    return sorted(known, key=value, reverse=not rising) + rest


def _invited(study: ServedStudy, form: Form) -> tuple[list[str | None], list[str], Text | None]:
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

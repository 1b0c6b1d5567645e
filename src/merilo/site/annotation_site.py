"""A server process: its log, the states of its studies, and the pages made of templates."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from http.client import OK
from typing import Any, Final, TypeVar

from babel import Locale
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pydantic_core import to_json
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from merilo.errors import DataError, InputError, MeriloError
from merilo.site.journal import Journal, ServerClock, Writer
from merilo.site.served_study import ServedStudy
from merilo.site.site_requests import (
    Refusal,
    RefusedRequestError,
    VisitorCookies,
    browser_language,
    cookie_of,
    set_cookie,
    wants_json,
)
from merilo.site.state import Person, State
from merilo.site.visitor_limits import VisitorLimits
from merilo.text import Language, Text, markup

Result = TypeVar("Result")

ERROR: Final = Text("Error")
NOT_FOUND: Final = Text("There is no such page")


#: The templates are read once, and everything that is put into them is escaped.
PAGES: Final = Environment(
    loader=PackageLoader("merilo.site"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)


def moment(milliseconds: int) -> Markup:
    """Return a time as an element that the script shows in the browser's time zone."""
    at = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return Markup('<time datetime="{}">{} UTC</time>').format(
        at.isoformat(timespec="seconds"), at.strftime("%Y-%m-%d %H:%M")
    )


PAGES.filters["moment"] = moment
PAGES.globals["text"] = Text


@cache
def sentences(language: Language) -> Mapping[str, object]:
    """Return what every template gets: the language, and `_`, which makes its sentences in the language."""
    fixed = cache(lambda english: markup(english, language))  # sentences without values are made once

    def sentence(english: str | Text, **values: Any) -> Markup:  # noqa: ANN401 - values of any type
        if values or isinstance(english, Text):
            return markup(english, language, **values)
        return fixed(english)

    other: Language = "en" if language == "ru" else "ru"
    name = Locale(other).display_name.capitalize()
    return {"_": sentence, "language": language, "other_language": other, "other_name": name}


#: What a refused request is told: the heading of the page, and the sentence.
_REFUSALS: Final[Mapping[Refusal, tuple[Text, Text]]] = {
    "not_given": (ERROR, Text("You were not given this task, so the answer was not taken.")),
    "old_form": (ERROR, Text("The page is out of date. Go back, reload it and send the answer again.")),
    "too_big": (ERROR, Text("More than 1 MB was sent. Shorten the text and send it again.")),
    "too_many": (ERROR, Text("Too many requests. Wait {seconds} s and try again.")),
    "not_found": (NOT_FOUND, NOT_FOUND),
    "failed": (ERROR, Text("An error occurred on the server. Your earlier answers are saved. Try again.")),
    "not_saved": (
        Text("The server cannot save answers now"),
        Text("This answer is not saved; your earlier answers are. Wait a minute and send the answer again."),
    ),
}


def refusal_texts(error: RefusedRequestError) -> tuple[Text, Text]:
    """Return the heading and the sentence for a person whose request was refused."""
    heading, text = _REFUSALS[error.word]
    return heading, Text(text.english, seconds=error.seconds)


class AnnotationSite:
    """The server process.

    Args:
        journal: the log; this process is the one that writes it.
        studies: the studies.
        clock: the server's time.
        cookie_key: the key of the cookies.
        author_secret: the secret of the author's link; `None` if there is no author's page.

    Attributes:
        studies: the studies.
        languages: the languages of their plans, for pages that belong to no study.
        states: key of a study -> its state.
    """

    def __init__(
        self,
        journal: Journal,
        studies: Sequence[ServedStudy],
        clock: ServerClock,
        cookie_key: str,
        *,
        author_secret: str | None = None,
    ) -> None:
        self.journal = journal
        self.clock = clock
        self.cookies = VisitorCookies(cookie_key)
        self.limits = VisitorLimits()
        self.author_secret = author_secret
        self.writer: Writer | None = None
        self.studies = studies
        self.languages = tuple(dict.fromkeys(name for study in studies for name in study.languages))
        self.states = self._read_states()

    def _read_states(self) -> dict[str, State]:
        return {study.key: State.of(study, self.journal) for study in self.studies}

    def read_again(self) -> None:
        """Read the states from the log; without it, every request is refused until it can be read."""
        try:
            self.states = self._read_states()
        except (DataError, InputError):
            self.states = {}

    async def act(self, decide: Callable[[], Result]) -> Result:
        """Do what a request asks for; what happened by it, and all that it was told, is on the disk when this returns.

        Args:
            decide: reads the states and records events in them.

        Raises:
            RefusedRequestError: the database cannot write, for example because the disk is full.
        """
        if self.writer is not None and not self.states:
            self.writer.start_again(OSError("the log could not be read"))
        if self.writer is None or not self.states:
            raise RefusedRequestError(503, "not_saved")
        try:
            result = decide()
        except Exception:
            if [entry for state in self.states.values() for entry in state.unwritten()]:
                self.writer.start_again(OSError("an earlier decision failed halfway"))
            raise
        entries = [entry for state in self.states.values() for entry in state.unwritten()]
        try:
            await self.writer.write(entries)
        except (SQLAlchemyError, MeriloError, OSError) as error:
            raise RefusedRequestError(503, "not_saved") from error
        return result

    async def read(self, study: ServedStudy, operation: Callable[[State], Result]) -> Result:
        """Compute something of a study in another thread, while people go on."""
        state = await self.act(lambda: self.states[study.key].copy())  # noqa: PLW0108 - the state as it is then
        return await asyncio.to_thread(operation, state)

    def study(self, key: str) -> ServedStudy:
        """Return a study by its key.

        Raises:
            RefusedRequestError: there is no such study.
        """
        for study in self.studies:
            if study.key == key:
                return study
        raise RefusedRequestError(404, "not_found")

    def sender(self, request: Request, study: ServedStudy) -> str:
        """Return the id of the person whose cookie the request carries; an empty text without one.

        A link that was replaced or revoked ends the sessions that it opened.
        """
        person, link = self.cookies.person_of(cookie_of(request, f"{VisitorCookies.PERSON}-{study.key}"))
        state = self.states.get(study.key)
        return "" if link and state is not None and not state.leads(link, person) else person

    def page(
        self,
        request: Request,
        template: str,
        *,
        study: ServedStudy | None = None,
        person: Person | None = None,
        status: int = 200,
        **content: Any,  # noqa: ANN401 - whatever the template shows
    ) -> Response:
        """Return a page made of a template, in the person's or the browser's language.

        The site's script gets the page and its address as JSON and puts the page in the place of the one that it shows.
        """
        language = self.language(request, study, person)
        return self.rendered(
            request, template, language, status=status, study=study, person=person, **content
        )

    def rendered(
        self,
        request: Request,
        template: str,
        language: Language,
        *,
        status: int,
        **content: Any,  # noqa: ANN401 - whatever the template shows
    ) -> Response:
        """Return a page made of a template in a language."""
        visit = self.visit_of(request)
        text = PAGES.get_template(template).render(
            **sentences(language), token=self.cookies.form_token(visit), **content
        )
        return self.response(request, text, visit, status=status)

    def response(self, request: Request, text: str, visit: str, *, status: int) -> Response:
        """Return a finished page, with the cookie that names the browser where it has none."""
        response: Response = HTMLResponse(text, status_code=status)
        if status == OK and wants_json(request):
            told = to_json({"next": request.scope["path"], "page": text})
            response = Response(told, media_type="application/json")
        if cookie_of(request, VisitorCookies.VISIT) != visit:
            set_cookie(request, response, VisitorCookies.VISIT, visit)
        return response

    def visit_of(self, request: Request) -> str:
        """Return the cookie that names the browser, of which its forms' tokens are made.

        A new one for a new browser.
        """
        visit = cookie_of(request, VisitorCookies.VISIT)
        return visit if self.cookies.is_visit(visit) else self.cookies.new_visit()

    def notice(
        self,
        request: Request,
        heading: Text | str,
        texts: Sequence[Text] = (),
        *,
        status: int = 200,
        template: str = "notice.html.j2",
        **more: Any,  # noqa: ANN401 - the parts of the template
    ) -> Response:
        """Return a page with a heading and paragraphs."""
        absent = dict.fromkeys(
            ("button", "to", "code_form", "completion", "declare", "declared", "typed", "error"), ""
        )
        return self.page(request, template, status=status, heading=heading, texts=texts, **{**absent, **more})

    def language(self, request: Request, study: ServedStudy | None, person: Person | None) -> Language:
        """Return the language of a page."""
        if person is not None:
            return "en" if person.language == "en" else "ru"
        return browser_language(request, study.languages if study else self.languages)

    def refused(self, request: Request, error: RefusedRequestError) -> Response:
        """Return the answer to a request that was refused."""
        heading, text = refusal_texts(error)
        response: Response
        if wants_json(request):
            said = text.in_language(browser_language(request, self.languages))
            response = JSONResponse({"error": said}, status_code=error.status)
        else:
            texts = () if heading is NOT_FOUND else (text,)
            response = self.notice(request, heading, texts, status=error.status)
        if error.seconds is not None:
            response.headers["Retry-After"] = str(error.seconds)
        return response


def go_to(request: Request, address: str) -> Response:
    """Send the browser to another page; the site's script gets the address as JSON."""
    return JSONResponse({"next": address}) if wants_json(request) else RedirectResponse(address, 303)

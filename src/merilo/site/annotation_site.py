"""The state of a server process: its database, its studies, and the pages made of templates."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from http.client import OK
from typing import Any, Final, TypeVar

from babel import Locale
from fastapi import Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from sqlalchemy import Connection, Engine

from merilo.site.annotator_steps import Participant
from merilo.site.database import ServerClock, Writer, snapshot
from merilo.site.people_access import NewPeople
from merilo.site.served_study import ServedStudy
from merilo.site.site_requests import (
    LIFETIME,
    Refusal,
    RefusedRequestError,
    VisitorCookies,
    browser_language,
    wants_json,
)
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

#: Sentences without values are made once.
_fixed_sentence: Final = cache(markup)

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
    """One server process.

    Args:
        engine: the database.
        studies: the studies, registered in the database.
        clock: the server's time.
        cookie_key: the key of the cookies.
        author_secret: the secret of the author's link; `None` if there is no author's page.
        newcomers: draws the pseudonyms and seeds of new people.
    """

    def __init__(
        self,
        engine: Engine,
        studies: Sequence[ServedStudy],
        clock: ServerClock,
        cookie_key: str,
        *,
        author_secret: str | None = None,
        newcomers: NewPeople | None = None,
    ) -> None:
        self.engine = engine
        self.clock = clock
        self.newcomers = newcomers or NewPeople()
        self.cookies = VisitorCookies(cookie_key)
        self.limits = VisitorLimits()
        self.by_key: Mapping[str, ServedStudy] = {study.key: study for study in studies}
        self.by_number: Mapping[int, ServedStudy] = {study.rules.study: study for study in studies}
        self.writer: Writer | None = None
        self.author_secret = author_secret

    async def read(self, operation: Callable[[Connection], Result]) -> Result:
        """Run an operation that changes nothing; it does not wait for the writer.

        Raises:
            RefusedRequestError: the database cannot be read.
        """

        def run() -> Result:
            with snapshot(self.engine) as connection:
                return operation(connection)

        with self._refusing():
            return await asyncio.to_thread(run)

    async def write(self, operation: Callable[[Connection], Result]) -> Result:
        """Run an operation in a transaction; it is on the disk when this returns.

        Raises:
            RefusedRequestError: the database cannot write, for example because the disk is full.
        """
        if self.writer is None:
            raise RefusedRequestError(503, "not_saved")
        with self._refusing():
            return await self.writer.run(operation)

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """Refuse the request if the database fails."""
        try:
            yield
        except Exception as error:
            original = getattr(error, "orig", error)
            if isinstance(original, self.engine.dialect.loaded_dbapi.Error):
                raise RefusedRequestError(503, "not_saved") from error
            raise

    def study(self, key: str) -> ServedStudy:
        """Return a study by its key.

        Raises:
            RefusedRequestError: there is no such study.
        """
        if key not in self.by_key:
            raise RefusedRequestError(404, "not_found")
        return self.by_key[key]

    def number_of(self, request: Request) -> int | None:
        """Return the number of the person whose cookie the request carries."""
        return self.cookies.person_of(request.cookies.get(VisitorCookies.PERSON))

    def page(
        self,
        request: Request,
        template: str,
        *,
        study: ServedStudy | None = None,
        person: Participant | None = None,
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
        """Return a page made of a template; `_` makes its sentences in the language."""

        def sentence(english: str | Text, **values: Any) -> Markup:  # noqa: ANN401 - values of any type
            if values or isinstance(english, Text):
                return markup(english, language, **values)
            return _fixed_sentence(english, language)

        visit, other = self.visit_of(request), "en" if language == "ru" else "ru"
        text = PAGES.get_template(template).render(
            _=sentence, language=language, other_language=other, other_name=Locale(other).display_name.capitalize(),
            token=self.cookies.form_token(visit), **content,
        )  # fmt: skip
        response: Response = HTMLResponse(text, status_code=status)
        if status == OK and wants_json(request):
            response = JSONResponse({"next": request.scope["path"], "page": text})
        if request.cookies.get(VisitorCookies.VISIT) != visit:
            self.set_cookie(request, response, VisitorCookies.VISIT, visit, "/")
        return response

    def visit_of(self, request: Request) -> str:
        """Return the cookie that names the browser, of which its forms' tokens are made.

        A new one for a new browser.
        """
        visit = request.cookies.get(VisitorCookies.VISIT, "")
        return visit if self.cookies.is_visit(visit) else self.cookies.new_visit()

    def notice(
        self,
        request: Request,
        heading: Text,
        texts: Sequence[Text] = (),
        *,
        status: int = 200,
        **more: Any,  # noqa: ANN401 - the parts of the template
    ) -> Response:
        """Return a page with a heading and paragraphs."""
        parts = {
            "button": "",
            "to": "",
            "post": False,
            "code_form": False,
            "completion": None,
            "declare": False,
            "declared": False,
            "typed": "",
            "error": "",
        }
        return self.page(
            request, "notice.html.j2", status=status, heading=heading, texts=texts, **{**parts, **more}
        )

    def language(self, request: Request, study: ServedStudy | None, person: Participant | None) -> Language:
        """Return the language of a page."""
        if person is not None:
            return "en" if person.language == "en" else "ru"
        return browser_language(request, study.languages if study else ("ru", "en"))

    def set_cookie(self, request: Request, response: Response, name: str, value: str, path: str) -> None:
        """Add a cookie that scripts cannot read and other sites do not send."""
        secure = request.url.scheme == "https"
        response.set_cookie(
            name, value, max_age=LIFETIME, path=path, secure=secure, httponly=True, samesite="lax"
        )

    def refused(self, request: Request, error: RefusedRequestError) -> Response:
        """Return the answer to a request that was refused."""
        heading, text = refusal_texts(error)
        response: Response
        if wants_json(request):
            said = text.in_language(browser_language(request))
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

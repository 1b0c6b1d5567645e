"""The state of a server process: its database, its studies, and the pages made of templates."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.client import OK
from typing import Any, Final, TypeVar

from fastapi import Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from sqlalchemy import Connection, Engine

from merilo.bilingual import Language
from merilo.site.annotator_steps import Participant, person_of
from merilo.site.hidden_estimate import Estimator, no_estimate
from merilo.site.live_events import LiveFigures
from merilo.site.new_people import NewPeople
from merilo.site.served_study import ServedStudy
from merilo.site.server_clock import ServerClock
from merilo.site.site_requests import RefusedRequestError, browser_language, wants_json
from merilo.site.site_words import words
from merilo.site.visitor_cookies import LIFETIME, VisitorCookies
from merilo.site.visitor_limits import VisitorLimits
from merilo.site.writer import Writer

Result = TypeVar("Result")


def page_templates() -> Environment:
    """Return the site's templates; they are read once, and everything that is put into them is escaped."""
    return Environment(
        loader=PackageLoader("merilo.site"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )


_PAGES: Final = page_templates()


class AnnotationSite:
    """One server process.

    Args:
        engine: the database.
        studies: the studies, registered in the database.
        clock: the server's time.
        cookie_key: the key of the cookies.
        estimator: computes the estimate of a study when its author asks for it.
        newcomers: draws the pseudonyms and seeds of new people.
    """

    def __init__(
        self,
        engine: Engine,
        studies: Sequence[ServedStudy],
        clock: ServerClock,
        cookie_key: str,
        estimator: Estimator | None = None,
        *,
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
        self.live = LiveFigures(self)
        self.estimator = estimator or no_estimate

    async def read(self, operation: Callable[[Connection], Result]) -> Result:
        """Run an operation that changes nothing; it does not wait for the writer.

        Raises:
            RefusedRequestError: the database cannot be read.
        """

        def run() -> Result:
            with self.engine.connect() as connection, connection.begin():
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

    async def as_person(
        self, request: Request, study: ServedStudy, step: Callable[[Connection, Participant], Result]
    ) -> Result | None:
        """Run a step of the person who sends the request, in one transaction.

        Returns:
            The result of the step; `None` if the request comes from nobody in this study.
        """
        run = self._step(request, study, step)
        return None if run is None else await self.write(run)

    async def look_as_person(
        self, request: Request, study: ServedStudy, look: Callable[[Connection, Participant], Result]
    ) -> Result | None:
        """Read something for the person who sends the request; the function changes nothing.

        Returns:
            The result of the function; `None` if the request comes from nobody in this study.
        """
        run = self._step(request, study, look)
        return None if run is None else await self.read(run)

    def _step(
        self, request: Request, study: ServedStudy, step: Callable[[Connection, Participant], Result]
    ) -> Callable[[Connection], Result | None] | None:
        number = self.number_of(request)
        if number is None:
            return None

        def run(connection: Connection) -> Result | None:
            person = person_of(connection, study, number)
            return None if person is None else step(connection, person)

        return run

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
        visit = self.visit_of(request)
        text = _PAGES.get_template(template).render(
            study=study, person=person, language=language, said=words(language), token=self.cookies.form_token(visit), **content
        )  # fmt: skip
        response: Response = HTMLResponse(text, status_code=status)
        if status == OK and wants_json(request):
            response = JSONResponse({"next": request.scope["path"], "page": text})
        self.keep_visit(request, response, visit)
        return response

    def visit_of(self, request: Request) -> str:
        """Return the cookie that names the browser, of which its forms' tokens are made; a new one for a new browser."""
        visit = request.cookies.get(VisitorCookies.VISIT, "")
        return visit if self.cookies.is_visit(visit) else self.cookies.new_visit()

    def keep_visit(self, request: Request, response: Response, visit: str) -> None:
        """Add the cookie that names the browser, unless the browser has it."""
        if request.cookies.get(VisitorCookies.VISIT) != visit:
            self.set_cookie(request, response, VisitorCookies.VISIT, visit, "/")

    def notice(
        self,
        request: Request,
        heading: str,
        texts: Sequence[str] = (),
        *,
        status: int = 200,
        **more: Any,  # noqa: ANN401 - the parts of the template
    ) -> Response:
        """Return a page with a heading and paragraphs, all of them names of texts in `site_words`."""
        study, person = more.pop("study", None), more.pop("person", None)
        said = words(self.language(request, study, person))
        shown = {
            "button": "",
            "to": "",
            "post": False,
            "code_form": False,
            "completion": None,
            "typed": "",
            **more,
        }
        shown["button"] = said[shown["button"]] if shown["button"] else ""
        fault = shown.pop("fault", "")
        return self.page(
            request, "notice.html.j2", study=study, person=person, status=status,
            heading=said[heading], error=said[fault] if fault else "", texts=[said[text] for text in texts], **shown,
        )  # fmt: skip

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
        said = words(browser_language(request))
        sentence = said["not_saved_text" if error.word == "not_saved" else error.word].format(error.seconds)
        response: Response
        if wants_json(request):
            response = JSONResponse({"error": sentence}, status_code=error.status)
        else:
            heading = error.word if error.word in {"not_saved", "not_found"} else "error"
            response = self.page(
                request, "notice.html.j2", status=error.status, heading=said[heading], texts=[] if heading == "not_found" else [sentence],
                button="", to="", post=False, code_form=False, completion=None, error="",
            )  # fmt: skip
        if error.seconds is not None:
            response.headers["Retry-After"] = str(error.seconds)
        return response


def go_to(request: Request, address: str) -> Response:
    """Send the browser to another page; the site's script gets the address as JSON."""
    return JSONResponse({"next": address}) if wants_json(request) else RedirectResponse(address, 303)

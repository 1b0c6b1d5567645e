"""The annotator's pages: coming in, consent, instruction, training, items, breaks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from secrets import token_hex
from typing import Any, Final, TypeAlias, TypeVar

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from merilo.responses import SIGNALS
from merilo.site import annotator_steps as steps
from merilo.site.annotation_site import AnnotationSite, go_to, refusal_texts
from merilo.site.annotator_steps import SentAnswer, ShownTask, Taken
from merilo.site.consent_facts import consent_facts, told_options
from merilo.site.item_form import (
    LONGEST_COMMENT,
    answer_in,
    field_of,
    prompt_html,
)
from merilo.site.people_access import (
    PLATFORM_IDS,
    PREVIEW,
    PROLIFIC,
    Admission,
    Completion,
    admit_from_platform,
    admit_invited,
    hand_out_completion,
    platform_id,
)
from merilo.site.served_study import ServedStudy
from merilo.site.site_requests import (
    Form,
    RefusedRequestError,
    VisitorCookies,
    browser_language,
    field,
    form_of,
    set_cookie,
    wants_json,
)
from merilo.site.state import Person, State
from merilo.site.task_pages import Page, TaskPages, fields_of
from merilo.site.visitor_limits import TooManyRequestsError
from merilo.studies.study_tasks import ANSWER
from merilo.text import Language, Text, markup

Result = TypeVar("Result")

#: The pages on which a person stays when they change the language.
_PAGES: Final = frozenset({"task", "training", "questions", "instruction", "pause"})

#: The most characters of a wrong code that are shown again.
LONGEST_TYPED: Final = 60

#: Statuses of refusals that end: the database cannot write, or the person must wait.
_LATER: Final = frozenset({429, 503})

_WELCOME: Final = Text("Welcome")
_LEFT: Final = Text("You have left the study on this device")

#: Breaks and refused answers of which the page tells, by the parameter `note`.
_NOTES: Final = frozenset({"start", "late", "passed_on", "answered_before"})

#: Stages at which a person gets no more tasks.
_ENDED: Final = frozenset({"declined", "refused", "stopped", "excluded"})


@dataclass(frozen=True, slots=True)
class _Before:
    """What a person has before them.

    Attributes:
        person: the person.
        shown: the task, or why there is none; `None` if the person is at another stage.
        completion: what the person gives to the platform, at the end.
    """

    person: Person
    shown: ShownTask | str | None
    completion: Completion | None = None


@dataclass(frozen=True, slots=True)
class _Sent:
    """A sent form.

    Attributes:
        answers: the answers that can be taken.
        faults: number of a task of the form -> what is wrong with its answer.
        then: what the person wants next.
        typed: whether something is typed in a field whose answer cannot be taken.
    """

    answers: tuple[SentAnswer, ...]
    faults: Mapping[int, Text]
    then: str
    typed: bool = False

    def fault(self) -> Text | None:
        """Return what is wrong with the form as a whole; `None` if nothing is."""
        if len(self.faults) + len(self.answers) == 1 or not self.answers:
            return next(iter(self.faults.values()), None)
        saved = Text(
            "The other answers are saved. {n:# task needs|# tasks need} an answer.", n=len(self.faults)
        )
        return saved if self.faults else None


@dataclass(frozen=True, slots=True)
class _Visit:
    """One request for a page of a study.

    Attributes:
        site: the server process.
        request: the request.
        study: the study.
        sender: the id of the person whose cookie the request carries; an empty text without one.
        tasks: the pages of tasks.
    """

    site: AnnotationSite
    request: Request
    study: ServedStudy
    sender: str
    tasks: TaskPages

    @property
    def base(self) -> str:
        """The path of the study's pages."""
        return f"/s/{self.study.key}"

    def go(self, page: str = "") -> Response:
        """Send the browser to a page of the study."""
        return go_to(self.request, f"{self.base}/{page}")

    def language(self, person: Person) -> Language:
        """Return the language of the person's pages."""
        return self.site.language(self.request, self.study, person)

    async def form(self) -> Form:
        """Read the sent form."""
        return await form_of(self.request, self.site.cookies)

    def notice(
        self,
        heading: Text | str,
        texts: Sequence[Text] = (),
        **more: Any,  # noqa: ANN401 - the parts of the template
    ) -> Response:
        """Return a page of the study with a heading and paragraphs."""
        return self.site.notice(self.request, heading, texts, study=self.study, **more)

    def without_task(self, word: str, person: Person, to: str = "", **more: Any) -> Response:  # noqa: ANN401 - see `notice`
        """Return the page of a break or an end; `stage.html.j2` has the words for it."""
        address = f"{self.base}/{to}"
        return self.notice("", template="stage.html.j2", word=word, person=person, to=address, **more)

    @property
    def state(self) -> State:
        """The study's state now."""
        return self.site.states[self.study.key]

    async def step(self, step: Callable[[State, Person], Result]) -> Result | None:
        """Do a step of the person who sends the request; `None` if they are not in the study."""

        def decide() -> Result | None:
            state = self.state
            person = state.people.get(self.sender)
            return None if person is None else step(state, person)

        return await self.site.act(decide)

    async def person(self) -> Person | None:
        """Return the person who sends the request; `None` if they are not in the study."""
        return await self.step(lambda _, person: person)

    async def before(self, page: Page) -> _Before | None:
        """Find what the person has before them, or give it to them."""
        now = self.site.clock.now()

        def before_them(state: State, person: Person) -> _Before:
            if page == "training":
                is_training = person.stage == "training"
                return _Before(person, steps.next_training(state, person, now) if is_training else None)
            if person.answers_tasks and (shown := steps.task_before(state, person, now)) is not None:
                return _Before(person, shown)
            return _next(state, person, now)

        return await self.step(before_them)

    async def show(
        self,
        page: Page,
        *,
        before: _Before | None = None,
        sent: _Sent | None = None,
        form: Form | None = None,
    ) -> Response:
        """Return the page of the tasks that the person has before them; after a fault, with what they typed."""
        before = before or await self.before(page)
        if before is None or before.shown is None:
            return self.go()
        study, person, shown = self.study, before.person, before.shown
        if not isinstance(shown, ShownTask):
            declaration = self._declaration(person, ended=shown in {"done", "most"})
            return self.without_task(shown, person, "task", completion=before.completion, **declaration)
        fault = None if sent is None else sent.fault()
        if fault and sent and not sent.answers and wants_json(self.request):
            return JSONResponse({"error": fault.in_language(self.language(person))}, status_code=422)
        faults = sent.faults if sent else {}
        return self.tasks.page(
            self.request,
            study,
            person,
            page,
            shown,
            fault=fault,
            faults=faults,
            form=(form if faults else None) or {},
        )

    async def take(self, page: Page) -> Response:
        """Save the answer of a sent form. The next page is sent only after the answer is on the disk."""
        form = await self.form()
        try:
            return await self._take(page, form)
        except RefusedRequestError as error:
            return self._unsaved(form, error)

    async def _take(self, page: Page, form: Form) -> Response:
        site, study, now = self.site, self.study, self.site.clock.now()
        if self.sender:
            site.limits.answer(self.request, self.sender)
        sent = _sent(study, page, form)
        # The script keeps what cannot be taken; without it, the page stays.
        pauses = sent.then == "pause" and (wants_json(self.request) or not sent.typed)
        if not sent.answers and (not pauses or len(sent.faults) == 1):
            return await self.show(page, sent=sent, form=form)

        def save(state: State, person: Person) -> tuple[Taken, _Before | None]:
            new = not person.answers
            result = steps.worst(steps.save_answers(state, person, sent.answers, now))
            if new and person.answers:
                site.limits.first_answer(self.request)
            goes_on = result in {"saved", "repeated"} and page != "training" and sent.then != "pause"
            if not goes_on or not wants_json(self.request):
                return result, None
            return result, _next(state, person, now)  # the script gets the next page at once

        taken, before = ("saved", None) if not sent.answers else await self.step(save) or ("not_given", None)
        if taken == "not_given":
            raise RefusedRequestError(409, "not_given")
        if before is not None or (sent.faults and taken in {"saved", "repeated"} and not pauses):
            return await self.show(page, before=before, sent=sent, form=form)
        if taken in {"late", "passed_on", "answered_before"}:
            return self.go(f"pause?note={taken}")
        if page == "training":
            return self.go(f"training/{study.tasks[sent.answers[0].number].id}")
        return self.go("pause" if sent.then == "pause" else "task")

    def _unsaved(self, form: Form, error: RefusedRequestError) -> Response:
        """Return a page with the answer that was not saved and a button that sends it again, without the database.

        Raises:
            RefusedRequestError: sending it again cannot help, or the site's script keeps the answer.
        """
        if error.status not in _LATER or wants_json(self.request):
            raise error
        heading, text = refusal_texts(error)
        response = self.site.page(
            self.request, "unsaved.html.j2", study=self.study, status=error.status, heading=heading, text=text,
            answers=[value for name in form if name.startswith(ANSWER) for value in form[name] if value],
            comments=[value for name in form if name.startswith("comment") for value in form[name] if value],
            to=self.request.url.path,
            kept=[(name, value) for name, values in form.items() if name != "token" for value in values],
        )  # fmt: skip
        if error.seconds is not None:
            response.headers["Retry-After"] = str(error.seconds)
        return response

    async def feedback(self) -> Response:
        """Return the page after an answer to a training item.

        Whether it is right and, if the plan says so, the known answer.
        """
        study, plan = self.study, self.study.folder.plan.training
        number = study.numbers.get(self.request.path_params["task"], -1)
        answered = await self.step(
            lambda state, person: (person, steps.training_answer(state, person, number))
        )
        person, training_answer = answered or (None, None)
        if person is None or training_answer is None or plan is None:
            return self.go()
        answer, right = training_answer
        shown, shows_known = study.tasks[number], plan.feedback and not right
        return self.site.page(
            self.request,
            "feedback.html.j2",
            study=study,
            person=person,
            heading=Text("Right") if right else Text("Wrong"),
            prompt=prompt_html(study, shown, self.language(person)),
            given=answer,
            right=right,
            program=shown.form == "program",
            known=shown.first_known if shows_known else None,
            hint=shown.hint if shows_known else None,
        )

    async def instruction(self) -> Response:
        """Return the instruction's page."""
        person = await self.person()
        if person is None or person.stage in {"consent", "declined", "questions"}:
            return self.go()
        language = self.language(person)
        # A table scrolls in its box, also by keyboard, so that a wide one does not widen the page.
        box = Markup('<div class="table" tabindex="0" role="region" aria-label="{}"><table>').format(
            markup("Table", language)
        )
        html = self.study.instructions[language].replace("<table>", box)
        return self.site.page(
            self.request,
            "instruction.html.j2",
            study=self.study,
            person=person,
            heading=Text("Instruction"),
            page="instruction",
            instruction=Markup(html.replace("</table>", "</table></div>")),  # noqa: S704 - by `html_of`
        )

    async def home(self) -> Response:
        """Let somebody in whom a platform sends, or return the page of a person's stage."""
        site, study, parameters = self.site, self.study, self.request.query_params
        handed = platform_id(parameters)
        if study.preview and not self.sender:  # whoever looks at a preview is somebody new
            handed = handed or ("link", token_hex())
        if handed is not None and (study.preview or study.lets_in(handed[1])):
            language = browser_language(self.request, study.languages)
            now, wait = site.clock.now(), site.limits.seconds_to_new_person(self.request)
            admitted = await site.act(
                lambda: admit_from_platform(self.state, *handed, language, now, new=not wait)
            )
            if admitted is None:
                raise TooManyRequestsError(seconds=wait)
            if admitted.new:
                site.limits.new_person(self.request)
            return _let_in(site, self.request, admitted)

        def look(state: State, person: Person) -> tuple[Person, Completion | None]:
            now = site.clock.now()
            return person, _completion(state, person, now) if person.stage in _ENDED else None

        look_result = await self.step(look)
        if look_result is not None:
            return self._stage(*look_result)
        if parameters.get("assignmentId") == PREVIEW:
            return self.notice(Text("Preview"), [Text("Accept the task on the platform to begin.")])
        named = next((name for name in PLATFORM_IDS if name in parameters), None)
        if named is None or handed is not None or self.study.by_invitation:
            text = Text("Open the personal link that you received, or enter its code.")
            return self.notice(Text("By invitation only"), [text], code_form=True)
        text = Text(
            "{name} in the address is no id of a person: it is empty, not filled in by the platform, longer than 200 "
            "characters or unreadable. Open the task on the platform again, or enter the code of an invitation.",
            name=named,
        )
        return self.notice(Text("Your id on the platform is missing"), [text], code_form=True)

    def consent(self, person: Person) -> Response:
        """Return the consent page."""
        facts = consent_facts(
            self.study,
            steps.most_places(self.study, person),
            len(steps.training_of(self.study, person)),
        )
        heading = Text("Consent to take part")
        return self.site.page(
            self.request, "consent.html.j2", study=self.study, person=person, heading=heading, facts=facts
        )

    async def questions(self) -> Response:
        """Return the questions about the person."""
        person = await self.person()
        if person is None or person.stage != "questions":
            return self.go()
        return self.site.page(
            self.request, "questions.html.j2", study=self.study, person=person, page="questions",
            heading=Text("About you"), questions=self.study.folder.plan.demographics,
        )  # fmt: skip

    async def consent_again(self) -> Response:
        """Return the consent page for somebody who had declined."""
        person = await self.person()
        return self.consent(person) if person and person.stage == "declined" else self.go()

    def _stage(self, person: Person, completion: Completion | None) -> Response:
        """Return the page of a person's stage."""
        if person.stage == "consent":
            return self.consent(person)
        if person.stage in _ENDED:
            declaration = self._declaration(person, ended=person.stage == "stopped")
            return self.without_task(person.stage, person, "consent", completion=completion, **declaration)
        page: str = person.stage
        if person.answers_tasks:
            page = "pause?note=start" if self.study.rules.time_limit else "task"
        return RedirectResponse(f"{self.base}/{page}", 303)

    def _declaration(self, person: Person, *, ended: bool) -> dict[str, bool]:
        """Return whether the page asks about help by AI, and whether it thanks for the answer."""
        asked = ended and self.study.folder.plan.assistance.declaration
        return {
            "declare": asked and person.declared is None,
            "declared": asked and person.declared is not None,
        }


async def _change_language(here: _Visit) -> Response:
    """Change the language of the person's pages, and stay on the page."""
    form, now = await here.form(), here.site.clock.now()
    chosen, page = field(form, "language"), field(form, "page")
    if chosen in here.study.languages:
        await here.step(lambda state, person: steps.set_language(state, person, chosen, now))
    return here.go(page if page in _PAGES else "")


async def _leave(here: _Visit) -> Response:
    """Let this device forget the person."""
    await here.form()
    forgotten = Text("This device has forgotten you. To go on, open your link again.")
    response = here.notice(_LEFT, [forgotten])
    set_cookie(here.request, response, f"{VisitorCookies.PERSON}-{here.study.key}", "", seconds=0)
    response.headers["Clear-Site-Data"] = '"storage"'  # answers that were not sent
    return response


async def _pause(here: _Visit) -> Response:
    """Return the page of a break, or one that says why an answer was not taken."""
    person = await here.person()
    if person is None:
        return here.go()
    note = here.request.query_params.get("note", "")
    word, to = note if note in _NOTES else "pause", "task" if person.answers_tasks else ""
    return here.without_task(word, person, to)


async def _media(here: _Visit) -> Response:
    """Return a file of a task."""
    name = here.request.path_params["name"]
    if not here.sender or name not in here.study.media:
        raise RefusedRequestError(404, "not_found")
    return FileResponse(here.study.media[name], headers={"Cache-Control": "private, max-age=3600"})


#: A step of a person, with the sent form and the time.
_Step: TypeAlias = Callable[[State, Person, Form, int], object]


def _after(step: _Step) -> Callable[[_Visit], Awaitable[Response]]:
    """Return what a form does: a step of the person, after which the page of their stage follows."""

    async def sent(here: _Visit) -> Response:
        form, now = await here.form(), here.site.clock.now()
        await here.step(lambda state, person: step(state, person, form, now))
        return here.go()

    return sent


#: Method and path of a page of a study -> what answers; the most frequent ones come first.
_ROUTES: Final[Mapping[tuple[str, str], Callable[[_Visit], Awaitable[Response]]]] = {
    ("POST", "/task"): lambda here: here.take("task"),
    ("GET", "/task"): lambda here: here.show("task"),
    ("GET", "/"): _Visit.home,
    ("GET", "/consent"): _Visit.consent_again,
    ("POST", "/consent"): _after(lambda state, person, _, now: steps.consent(state, person, now)),
    ("POST", "/decline"): _after(lambda state, person, _, now: steps.decline(state, person, now)),
    ("GET", "/questions"): _Visit.questions,
    ("POST", "/questions"): _after(
        lambda state, person, form, now: steps.tell_background(
            state, person, told_options(state.study, form), now
        )
    ),
    ("GET", "/instruction"): _Visit.instruction,
    ("POST", "/instruction"): _after(
        lambda state, person, _, now: steps.read_instruction(state, person, now)
    ),
    ("GET", "/training"): lambda here: here.show("training"),
    ("POST", "/training"): lambda here: here.take("training"),
    ("GET", "/training/{task}"): _Visit.feedback,
    ("GET", "/pause"): _pause,
    ("POST", "/declaration"): _after(
        lambda state, person, form, now: steps.declare(state, person, field(form, "declared"), now)
    ),
    ("POST", "/language"): _change_language,
    ("POST", "/leave"): _leave,
    ("GET", "/media/{name}"): _media,
}


def annotator_routes(site: AnnotationSite) -> list[Route]:
    """Return the routes of the annotators' pages."""
    tasks = TaskPages(site)

    def page(answer: Callable[[_Visit], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            study = site.study(request.path_params["key"])
            return await answer(_Visit(site, request, study, site.sender(request, study), tasks))

        return endpoint

    async def door(request: Request) -> Response:
        return site.notice(request, _WELCOME, [Text("Enter the code of your invitation.")], code_form=True)

    async def enter(request: Request) -> Response:
        return await _by_code(site, request, field(await form_of(request, site.cookies), "code"))

    async def link(request: Request) -> Response:
        return await _by_code(site, request, request.path_params["code"])

    pages = [
        Route(f"/s/{{key}}{path}", page(answer), methods=[method])
        for (method, path), answer in _ROUTES.items()
    ]
    return [*pages, Route("/", door), Route("/enter", enter, methods=["POST"]), Route("/i/{code}", link)]


def _next(state: State, person: Person, now: int) -> _Before:
    """Give a person their next item, or the code for the platform at the end."""
    if not person.answers_tasks:
        return _Before(person, None)
    shown = steps.next_task(state, person, now)
    # Somebody from a panel has to hand in the code in time, and cannot wait for tasks of others.
    ended = shown in {"done", "most"} or (
        shown == "wait" and person.source == PROLIFIC and person.answers > 0
    )
    return _Before(person, shown, _completion(state, person, now) if ended else None)


def _completion(state: State, person: Person, now: int) -> Completion | None:
    """Return what a person gives to the platform at the end; `None` if they were invited."""
    return hand_out_completion(state, person, now) if person.from_platform else None


def _sent(study: ServedStudy, page: Page, form: Form) -> _Sent:
    """Read a sent form.

    Raises:
        RefusedRequestError: a task does not belong to this page.
    """
    most = 1 if page == "training" else study.rules.on_screen
    if most == 1:  # what else a form says does not count
        form = {**form, "task": form.get("task", ())[:1]}
    tasks, then = list(dict.fromkeys(form.get("task", ()))), field(form, "then")
    if not 0 < len(tasks) <= most:
        raise RefusedRequestError(409, "not_given")
    answers, faults, typed = [], {}, False
    for task in tasks:
        number, own = study.numbers.get(task), fields_of(form, task)
        if number is None or (number in study.training) != (page == "training"):
            raise RefusedRequestError(409, "not_given")
        marked = then == "mine" if len(tasks) == 1 else bool(field(own, "mine"))
        skipped = marked and page == "task" and study.arm.skip_own
        answer, fault = ("", None) if skipped else answer_in(field_of(study.tasks[number]), own)
        comment = field(own, "comment").replace("\r\n", "\n").replace("\0", "").strip()
        if len(comment) > LONGEST_COMMENT:
            fault = Text("The comment is longer than 2,000 characters. Shorten it and send it again.")
        recorded = study.folder.plan.assistance.signals and page == "task"
        signals = field(own, SIGNALS) if recorded else None
        if fault is None:
            answers.append(
                SentAnswer(
                    number=number, answer=answer, skipped=skipped, comment=comment or None, signals=signals
                )
            )
        else:
            faults[number] = fault
            typed |= any(value.strip() for value in own.get(ANSWER, ()))
    return _Sent(tuple(answers), faults, then, typed)


async def _by_code(site: AnnotationSite, request: Request, code: str) -> Response:
    language, now = browser_language(request, site.languages), site.clock.now()
    admitted = await site.act(lambda: admit_invited([*site.states.values()], code, language, now))
    if admitted is None:
        site.limits.wrong_code(request)
        wrong = Text("There is no such code, or it was revoked. Check the code or ask for a new one.")
        return site.notice(
            request, _WELCOME, status=404, code_form=True, error=wrong, typed=code[:LONGEST_TYPED]
        )
    return _let_in(site, request, admitted)


def _let_in(site: AnnotationSite, request: Request, admitted: Admission) -> Response:
    study = admitted.state.study
    response = RedirectResponse(study.path, 303)
    cookie = site.cookies.person(admitted.person.id, admitted.link)
    set_cookie(request, response, f"{VisitorCookies.PERSON}-{study.key}", cookie)
    return response

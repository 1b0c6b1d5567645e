"""The pages of a person's way through a study: consent, instruction, training, items, breaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, Response
from sqlalchemy import Connection

from merilo.site import annotator_steps as steps
from merilo.site.annotation_site import AnnotationSite, go_to
from merilo.site.annotator_steps import Participant, ShownTask
from merilo.site.assignment import Taken
from merilo.site.direct_routes import StudyPage
from merilo.site.item_form import (
    LONGEST_ANSWER,
    LONGEST_COMMENT,
    answer_in,
    field_of,
    is_fixed_width,
    prompt_html,
)
from merilo.site.served_study import ServedStudy
from merilo.site.site_requests import RefusedRequestError, field, form_of, wants_json
from merilo.site.site_words import words
from merilo.site.unsaved_answers import unsaved_answer
from merilo.studies.instruction import SKIP_OWN

Page = Literal["task", "training"]

#: What the page of a break says, by the parameter `note`.
_NOTES: Final[Mapping[str, tuple[str, str, str]]] = {
    "": ("pause", "pause_text", "go_on"),
    "start": ("start", "start_text", "start"),
    "late": ("time_up", "late", "next"),
    "passed_on": ("time_up", "passed_on", "next"),
    "answered_before": ("answered_before", "answered_before_text", "next"),
}

#: Why there is no task -> the heading, the text and the button of the page.
_WITHOUT: Final[Mapping[str, tuple[str, str, str]]] = {
    "done": ("thanks", "done_text", ""),
    "most": ("thanks", "most_text", ""),
    "wait": ("wait", "wait_text", "try_again"),
    "paused": ("paused", "paused_text", "try_again"),
}


def annotator_routes(site: AnnotationSite) -> APIRouter:
    """Return the routes of training, items, breaks and media."""
    router = APIRouter(prefix="/s/{key}", default_response_class=HTMLResponse)

    @router.get("/training")
    async def training(request: Request, key: str) -> Response:
        return await _show(site, request, site.study(key), "training")

    @router.post("/training")
    async def trained(request: Request, key: str) -> Response:
        return await _take(site, request, site.study(key), "training")

    @router.get("/training/{task}")
    async def feedback(request: Request, key: str, task: str) -> Response:
        return await _feedback(site, request, site.study(key), task)

    for (method, page), answer in item_pages(site).items():
        router.add_api_route(f"/{page}", answer, methods=[method])

    @router.get("/pause")
    async def pause(request: Request, key: str, note: str = "") -> Response:
        study = site.study(key)
        person = await site.look_as_person(request, study, lambda _, person: person)
        if person is None:
            return go_to(request, f"/s/{key}/")
        heading, text, button = _NOTES.get(note, _NOTES[""])
        to = f"/s/{key}/{'task' if person.stage == 'working' else ''}"
        return site.notice(request, heading, [text], study=study, person=person, button=button, to=to)

    @router.get("/media/{name}", response_class=FileResponse)
    async def media(request: Request, key: str, name: str) -> Response:
        study = site.study(key)
        if site.number_of(request) is None or name not in study.media:
            raise RefusedRequestError(404, "not_found")
        return FileResponse(study.media[name], headers={"Cache-Control": "private, max-age=3600"})

    return router


def item_pages(site: AnnotationSite) -> Mapping[tuple[str, str], StudyPage]:
    """Return what answers the requests for items, by method and page."""

    async def item(request: Request, key: str) -> Response:
        return await _show(site, request, site.study(key), "task")

    async def answered(request: Request, key: str) -> Response:
        return await _take(site, request, site.study(key), "task")

    return {("GET", "task"): item, ("POST", "task"): answered}


def _said(
    site: AnnotationSite, request: Request, study: ServedStudy, person: Participant
) -> Mapping[str, str]:
    return words(site.language(request, study, person))


@dataclass(frozen=True, slots=True)
class _Before:
    """What a person has before them.

    Attributes:
        person: the person.
        shown: the task, or why there is none; `None` if the person is at another stage.
        completion: the code for the platform, at the end.
    """

    person: Participant
    shown: ShownTask | str | None
    completion: str | None = None


async def _look(site: AnnotationSite, request: Request, study: ServedStudy, page: Page) -> _Before | None:
    """Find what a person has before them; the writer is asked only if a task has to be given."""
    now = site.clock.now()

    def held(connection: Connection, person: Participant) -> _Before:
        working = person.stage == "working"
        return _Before(person, steps.task_before(connection, study, person, now) if working else None)

    def given(connection: Connection, person: Participant) -> _Before:
        if page == "task":
            return _next(connection, study, person, now)
        training = person.stage == "training"
        return _Before(person, steps.next_training(connection, study, person, now) if training else None)

    if page == "task":
        found = await site.look_as_person(request, study, held)
        if found is None or found.shown is not None or found.person.stage != "working":
            return found
    return await site.as_person(request, study, given)


def _next(connection: Connection, study: ServedStudy, person: Participant, now: int) -> _Before:
    """Give a person their next item, or the code for the platform at the end."""
    if person.stage != "working":
        return _Before(person, None)
    found = steps.next_task(connection, study, person, now)
    ended = found in {"done", "most"} and person.source not in {"link", "expert"}
    return _Before(person, found, steps.hand_out_completion(connection, person) if ended else None)


async def _show(
    site: AnnotationSite,
    request: Request,
    study: ServedStudy,
    page: Page,
    *,
    before: _Before | None = None,
    fault: str = "",
    form: Mapping[str, Sequence[str]] | None = None,
) -> Response:
    """The page of the task that a person has before them; after a fault, with what they typed."""
    before = before or await _look(site, request, study, page)
    if before is None or before.shown is None:
        return go_to(request, f"/s/{study.key}/")
    person, shown, completion = before.person, before.shown, before.completion
    if not isinstance(shown, ShownTask):
        heading, text, button = _WITHOUT[str(shown)]
        return site.notice(
            request, heading, [text], study=study, person=person, button=button, to=f"/s/{study.key}/task", completion=completion
        )  # fmt: skip
    said, language = _said(site, request, study, person), site.language(request, study, person)
    if fault and wants_json(request):
        return JSONResponse({"error": said[fault]}, status_code=422)
    task = study.tasks[shown.number]
    kept = form if form is not None and field(form, "task") == task.id else {}
    heading = (
        said["training_place"].format(shown.place, shown.of) if shown.of else said["task"].format(shown.place)
    )
    earlier = [
        {"prompt": prompt_html(study, study.tasks[number], language), "answer": answer}
        for number, answer in shown.earlier
    ]
    return site.page(
        request, "item.html.j2", study=study, person=person, status=422 if fault else 200, heading=heading, error=said[fault] if fault else "", page=page,
        progress="" if shown.of else _progress(said, shown, steps.most_places(study, person), language), done=shown.place - 1,
        most=steps.most_places(study, person), fixed=is_fixed_width(task), task=task, prompt=prompt_html(study, task, language), field=field_of(task), left=shown.left, earlier=earlier,
        typed=list(kept.get("answer", ())), comment=field(kept, "comment"), longest=LONGEST_ANSWER, longest_comment=LONGEST_COMMENT,
    )  # fmt: skip


def _progress(said: Mapping[str, str], shown: ShownTask, most: int, language: str) -> str:
    """How many tasks are behind a person, and how many there are at most; the place of every kind of task counts alike."""
    space = "," if language == "en" else "\N{NO-BREAK SPACE}"
    done, total = (f"{number:,}".replace(",", space) for number in (shown.place - 1, most))
    return said["progress"].format(done, total)


class _Sent(NamedTuple):
    """A sent form.

    Attributes:
        number: the number of the task.
        answer: the answer; the mark "may be mine" if the task is skipped.
        skipped: whether the person skips the task because they may have written it.
        comment: the remark on the item; `None` if there is none.
        then: what the person wants next.
        fault: what is wrong with the form: the name of a text, or an empty text.
    """

    number: int
    answer: str
    skipped: bool
    comment: str | None
    then: str
    fault: str


def _sent(study: ServedStudy, page: Page, form: Mapping[str, Sequence[str]]) -> _Sent:
    """Read a sent form.

    Raises:
        RefusedRequestError: the task does not belong to this page.
    """
    number = study.numbers.get(field(form, "task"))
    if number is None or (number in study.training) != (page == "training"):
        raise RefusedRequestError(409, "not_given")
    then = field(form, "then")
    skipped = then == "mine" and page == "task" and study.arm.skip_own
    answer, fault = (SKIP_OWN["ru"], "") if skipped else answer_in(field_of(study.tasks[number]), form)
    comment = field(form, "comment").replace("\r\n", "\n").replace("\0", "").strip()
    if len(comment) > LONGEST_COMMENT:
        fault = "comment_too_long"
    return _Sent(number, answer, skipped, comment or None, then, fault)


async def _take(site: AnnotationSite, request: Request, study: ServedStudy, page: Page) -> Response:
    """Save the answer of a sent form. The next page is sent only after the answer is on the disk."""
    form = await form_of(request, site.cookies)
    try:
        return await _take_form(site, request, study, page, form)
    except RefusedRequestError as error:
        return unsaved_answer(site, request, study, form, error)


async def _take_form(
    site: AnnotationSite, request: Request, study: ServedStudy, page: Page, form: Mapping[str, Sequence[str]]
) -> Response:
    sender = site.number_of(request)
    if sender is not None:
        site.limits.answer(request, sender)
    now = site.clock.now()
    sent = _sent(study, page, form)
    number, then = sent.number, sent.then
    if sent.fault:
        return await _show(site, request, study, page, fault=sent.fault, form=form)

    def save(
        connection: Connection, person: Participant
    ) -> tuple[Taken | Literal["answered_before"], _Before | None]:
        if page == "training":
            return steps.answer_training(connection, study, person, number, sent.answer, now=now), None
        taken = steps.save_answer(
            connection,
            study,
            person,
            number,
            sent.answer,
            now=now,
            skipped=sent.skipped,
            comment=sent.comment,
        )
        if taken == "repeated" and steps.first_answer(connection, study, person, number) != sent.answer:
            # Not a request that was sent twice, but another answer, for example from a second tab.
            return "answered_before", None
        if taken not in {"saved", "repeated"} or then == "pause" or not wants_json(request):
            return taken, None
        # The script gets the next page at once. An answer to a control item may have stopped the person.
        person = steps.person_of(connection, study, person.id) or person
        return taken, _next(connection, study, person, now)

    taken, before = await site.as_person(request, study, save) or ("not_given", None)
    if taken == "not_given":
        raise RefusedRequestError(409, "not_given")
    if before is not None:
        return await _show(site, request, study, page, before=before)
    base = f"/s/{study.key}"
    if taken in {"late", "passed_on", "answered_before"}:
        return go_to(request, f"{base}/pause?note={taken}")
    if page == "training":
        return go_to(request, f"{base}/training/{study.tasks[number].id}")
    return go_to(request, f"{base}/{'pause' if then == 'pause' else 'task'}")


async def _feedback(site: AnnotationSite, request: Request, study: ServedStudy, task: str) -> Response:
    """The page after an answer to a training item: whether it is right and, if the plan says so, the known answer."""
    number = study.numbers.get(task, -1)
    found = await site.look_as_person(
        request,
        study,
        lambda connection, person: (person, steps.training_answer(connection, study, person, number)),
    )
    plan = study.folder.plan.training
    person, given = found or (None, None)
    if person is None or given is None or plan is None:
        return go_to(request, f"/s/{study.key}/")
    shown, told = study.tasks[number], plan.feedback and not given.right
    said = _said(site, request, study, person)
    return site.page(
        request, "feedback.html.j2", study=study, person=person, heading=said["right" if given.right else "wrong"],
        prompt=prompt_html(study, shown, site.language(request, study, person)), given=given.answer, right=given.right,
        fixed=is_fixed_width(shown), program=shown.form == "program",
        known=shown.first_known if told else None, hint=shown.hint if told else None,
    )  # fmt: skip

"""The pages of tasks. What of them is the same for everybody is made once and kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from secrets import token_hex
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from merilo.site.annotation_site import PAGES, AnnotationSite, sentences
from merilo.site.annotator_steps import ShownTask, most_places
from merilo.site.item_form import (
    LONGEST_ANSWER,
    LONGEST_COMMENT,
    field_of,
    hidden_text,
    item_form,
    prompt_html,
)
from merilo.site.served_study import ServedStudy
from merilo.site.site_requests import Form, field, wants_json
from merilo.site.state import Person
from merilo.studies.instruction import SKIP_OWN
from merilo.studies.study_tasks import ANSWER
from merilo.text import Language, Text, markup

#: A page of the way through a study: main tasks, or training.
Page: TypeAlias = Literal["task", "training"]

#: Tasks whose forms are kept, a few thousand bytes each.
_KEPT: Final = 4096

#: What a kept page has in the places of what differs from person to person. Nobody can put these marks into a text,
#: because they are random.
_MARKS: Final[Mapping[str, Markup]] = {
    name: Markup(f"{name}-{token_hex(16)}")  # noqa: S704 - letters and digits
    for name in ("token", "heading", "progress", "done", "most", "form")
}


class TaskPages:
    """Makes the pages of the tasks of a site.

    Args:
        site: the site.
    """

    def __init__(self, site: AnnotationSite) -> None:
        self._site = site
        self._kept_form = lru_cache(_KEPT)(self._empty_form)
        self._around: dict[tuple[object, ...], str] = {}

    def page(
        self,
        request: Request,
        study: ServedStudy,
        person: Person,
        page: Page,
        shown: ShownTask,
        *,
        fault: Text | None = None,
        faults: Mapping[int, Text],
        form: Form,
    ) -> Response:
        """Return the page of the tasks that a person has before them.

        Args:
            request: the request.
            study: the study.
            person: the person.
            page: which of the person's pages.
            shown: the first task, with those beside it.
            fault: what is wrong with the form that was sent.
            faults: number of a task -> what is wrong with its answer.
            form: the form that was sent, whose texts are shown again; empty without a fault.
        """
        language, visit = self._site.language(request, study, person), self._site.visit_of(request)
        tasks = (shown, *shown.beside)
        done, most = tasks[-1].place - len(tasks), most_places(study, person)
        own = {
            "token": self._site.cookies.form_token(visit),
            "heading": _heading(language, shown.place, tasks[-1].place, shown.of),
            "progress": _progress(language, done, most),
            "done": done,
            "most": most,
        }
        if faults or shown.left is not None or shown.earlier or shown.beside:
            items = [_item(study, task, page, language, faults=faults, form=form) for task in tasks]
            text = _page(
                study, person, page, language, items, own=own, error=fault or "", left=shown.left,
                forms=[_form(study, language, item, error=fault or "", several=len(items) > 1) for item in items],
            )  # fmt: skip
        else:
            own["form"] = self._kept_form(study.key, shown.number, page, language)
            text = self._kept_page(study, person, page, language, shown) % own
        status = 422 if fault and not wants_json(request) else 200
        return self._site.response(request, text, visit, status=status)

    def _empty_form(self, key: str, number: int, page: Page, language: Language) -> Markup:
        study = self._site.study(key)
        item = _item(study, ShownTask(number, place=0), page, language)
        return _form(study, language, item, error="", several=False)

    def _kept_page(
        self, study: ServedStudy, person: Person, page: Page, language: Language, shown: ShownTask
    ) -> str:
        """Return the page around a task, to be formatted with what `_MARKS` names."""
        answer = field_of(study.tasks[shown.number])
        key = (study.key, page, language, answer.kind, answer.own_keys)
        if key not in self._around:
            item = _item(study, shown, page, language)
            text = _page(
                study, person, page, language, [item], own=_MARKS, error="", left=None, forms=[_MARKS["form"]]
            )
            text = text.replace("%", "%%")
            for name, mark in _MARKS.items():
                text = text.replace(mark, f"%({name})s")
            self._around[key] = text
        return self._around[key]


def _page(
    study: ServedStudy,
    person: Person,
    page: Page,
    language: Language,
    items: Sequence[Mapping[str, Any]],
    *,
    own: Mapping[str, object],
    **more: object,
) -> str:
    return PAGES.get_template("item.html.j2").render(
        **sentences(language), **own, **_fixed(language), **more,
        study=study, person=person, page=page, items=items, several=len(items) > 1,
    )  # fmt: skip


def _form(
    study: ServedStudy, language: Language, item: Mapping[str, Any], *, error: Text | str, several: bool
) -> Markup:
    """Return the fields of a task."""
    module = PAGES.get_template("task.html.j2").make_module(
        {**sentences(language), **_fixed(language), "study": study, "error": error}
    )
    return Markup(module.shown_item(item, several))  # type: ignore[attr-defined]  # noqa: S704 - as the template made it


def _fixed(language: Language) -> dict[str, object]:
    mine = SKIP_OWN[language]
    return {
        "mine": mine[0].upper() + mine[1:],
        "longest": LONGEST_ANSWER,
        "longest_comment": LONGEST_COMMENT,
    }


def _item(
    study: ServedStudy,
    shown: ShownTask,
    page: Page,
    language: Language,
    *,
    faults: Mapping[int, Text] = MappingProxyType({}),
    form: Form = MappingProxyType({}),
) -> dict[str, Any]:
    """Return one task of a page for the templates; after a fault, with what the person typed."""
    task = study.tasks[shown.number]
    typed = fields_of(form, task.id) if task.id in form.get("task", ()) else {}
    return {
        **item_form(study, shown.number, shown.place, language),
        "hidden_text": hidden_text(study, task),
        "signals": page == "task" and study.folder.plan.assistance.signals,
        "earlier": [
            {"prompt": prompt_html(study, study.tasks[number], language), "answer": answer}
            for number, answer in shown.earlier
        ],
        "fault": faults.get(shown.number, ""),
        "typed": list(typed.get(ANSWER, ())),
        "comment": field(typed, "comment"),
    }


def fields_of(form: Form, task: str) -> Form:
    """Return the fields of one task of a form; a form with several tasks has their ids in the names."""
    if len(form.get("task", ())) < 2:
        return form
    ending = f"-{task}"
    return {name.removesuffix(ending): values for name, values in form.items() if name.endswith(ending)}


@lru_cache(_KEPT)
def _heading(language: Language, first: int, last: int, of: int | None) -> Markup:
    if of is not None:
        return markup(Text("Training task {place} of {of}", place=first, of=of), language)
    if last > first:
        return markup(Text("Tasks {first}–{last}", first=first, last=last), language)
    return markup(Text("Task {place}", place=first), language)


@lru_cache(_KEPT)
def _progress(language: Language, done: int, most: int) -> Markup:
    return markup("{done:,} done, at most {most:,} in total", language, done=done, most=most)

"""The instruction for annotators.

Written in Markdown in Russian and in English, and shown as HTML that no text can break out of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape

from merilo.datasets.declaration import Dataset
from merilo.datasets.rendering import group, option_fields, prompts, render, template
from merilo.errors import InputError
from merilo.items import Item
from merilo.strict_json import Json, read_json
from merilo.studies.plan import Arm, OwnWords, Plan, TimeLimits
from merilo.studies.study_tasks import alternatives_of, one_answer
from merilo.text import LANGUAGES, Language, Text, joined

#: The number of examples that the instruction shows; the others are folded.
UNFOLDED: Final = 8
#: The longest text of all shown examples, in characters.
_UNFOLDED_TEXT: Final = 2500

_MORE_EXAMPLES: Final = Text("## More examples")

#: The option for annotators who may have written an item.
SKIP_OWN: Final[Mapping[Language, str]] = {
    language: Text("skip the question because I may have written it").in_language(language)
    for language in LANGUAGES
}

#: Language -> the file of the dataset's card, and its section with the description of the task.
_CARD: Final = {"ru": "raw_readme_ru.json", "en": "raw_readme_en.json"}


def default_restrictions(
    declared: Dataset, languages: Sequence[Language] = LANGUAGES
) -> tuple[OwnWords, ...]:
    """Return the rules of every study of a dataset in some languages, unless the author replaces them."""
    tools = Text("Do not use a calculator, a spreadsheet or a programming language such as Python.")
    if declared.answer.kind == "program":
        tools = Text(
            "Do not run the program: Python, development environments and calculators are not allowed."
        )
    search = Text("Do not search for answers on the internet, in books or in other sources.")
    networks = Text(
        "Do not use neural networks, chatbots or voice assistants, and do not copy the tasks into them."
    )
    return tuple(
        OwnWords(**{language: rule.in_language(language) for language in languages})
        for rule in (search, tools, networks)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDescription:
    """What annotators are told about a dataset; every text is given by its language.

    Attributes:
        task: what to do.
        answer: how to write an answer; `None` if the kind of the answer says it.
        labels: a label, or several separated by commas -> their meaning.
        examples: solved items written for Merilo, which show every label and every form of prompt.
        opinion: whether people say what they think, so that no answer is the right one.
    """

    task: Mapping[str, str]
    answer: Mapping[str, str] | None = None
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    examples: tuple[Item, ...] = ()
    opinion: bool = False


@cache
def task_descriptions() -> Mapping[str, TaskDescription]:
    """Read the descriptions of all datasets of the catalogue, by the dataset's name."""
    import yaml  # noqa: PLC0415 - needed only where an instruction is written

    text = (files("merilo.studies") / "instructions.yaml").read_text(encoding="utf-8")
    known: dict[str, dict[str, Any]] = yaml.safe_load(text)
    return {name: _description(entry) for name, entry in known.items()}


def _description(entry: Mapping[str, Any]) -> TaskDescription:
    solved = (
        Item(
            f"example-{number}",
            example.get("prompt", 0),
            example["inputs"],
            example["outputs"],
            example.get("meta", {}),
        )
        for number, example in enumerate(entry.get("examples", ()), start=1)
    )
    return TaskDescription(**{**entry, "examples": tuple(solved)})


def written_examples(declared: Dataset, test: Sequence[Item]) -> list[Item]:
    """Return Merilo's own examples of a dataset, each with its own template, else that of a test item of the same form.

    Args:
        declared: the dataset.
        test: the items of the test.
    """
    known = task_descriptions().get(declared.name)
    like = {group(item, declared): item for item in reversed(test)}
    items = []
    for item in known.examples if known else ():
        form = group(item, declared)
        if form in like and not isinstance(item.instruction, str):
            items.append(replace(item, instruction=template(like[form], declared)))
        elif isinstance(item.instruction, str) or form in prompts(declared):
            items.append(item)
    return items


def card_text(folder: Path, language: str) -> str | None:
    """Read the description of the task from the dataset's card; `None` if there is no card.

    Raises:
        InputError: the card is not an object of texts.
    """
    name = _CARD[language]
    section = Text("Task description").in_language("ru" if language == "ru" else "en")
    if not (folder / name).is_file():
        return None
    content: Json = read_json(folder / name)
    if not isinstance(content, dict):
        raise InputError("must be a JSON object: section -> text", file=folder / name)
    description = next(
        (text for title, text in content.items() if title.casefold() == section.casefold()), None
    )
    return description.strip() if isinstance(description, str) and description.strip() else None


def write_instruction(
    language: Language,
    declared: Dataset,
    plan: Plan,
    *,
    task: str | None,
    examples: Sequence[Item],
    beside_models: bool = True,
) -> str:
    """Write the instruction in one language.

    Args:
        language: "ru" or "en".
        declared: the dataset.
        plan: the plan, whose rules, time limit, control items and training are told.
        task: the description of the task from the dataset's card; by default, Merilo's own for datasets of
            the catalogue.
        examples: solved items.
        beside_models: whether models are asked the same items; people alone judge the pairs of ruDetox.
    """
    known = task_descriptions().get(declared.name)
    return written(
        "instruction.md",
        language,
        declared=declared,
        plan=plan,
        task=task or _said(_task(language, declared, known), language),
        beside_models=beside_models,
        steps=[_said(step, language) for step in _steps(language, declared, known)],
        limits=[text.in_language(language) for text in _time_limits(plan)],
        rules=[rule for restriction in plan.restrictions if (rule := restriction.text(language))],
        examples=[_example(example, declared, language) for example in examples],
        unfolded=_unfolded([len(render(example, declared)) for example in examples]),
        opinion=bool(known and known.opinion),
    )


@cache
def study_templates() -> Environment:
    """Return the templates; the filter `cell` escapes a text for a cell of Mechanical Turk."""
    environment = Environment(
        loader=PackageLoader("merilo.studies"),
        autoescape=select_autoescape(disabled_extensions=["md.j2"], default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["cell"] = mturk_cell
    return environment


def mturk_cell(text: str) -> Markup:
    """Return a text as HTML for a cell of the batch of Mechanical Turk.

    Example:
        >>> mturk_cell("<b>1</b> ${x}") == "&lt;b&gt;1&lt;/b&gt; &#36;{x}"
        True
    """
    escaped = escape(text).replace("$", Markup("&#36;")).replace("\r\n", "\n").replace("\n", Markup("<br>"))
    return Markup("").join(
        letter if ord(letter) < 0x10000 else Markup(f"&#{ord(letter)};")  # noqa: S704 - a number
        for letter in map(Markup, escaped)
    )


def written(name: str, language: Language, **values: object) -> str:
    """Return a template of studies with its values, in a language."""

    def said(text: str, **fields: Any) -> str:  # noqa: ANN401 - whatever a sentence counts or names
        return Text(text, **fields).in_language(language)

    return study_templates().get_template(f"{name}.j2").render({"_": said, **values})


def _time_limits(plan: Plan) -> Iterator[Text]:
    """Tell the time limits of the groups, each once."""
    for limit in dict.fromkeys(str(arm.time_limit) for arm in plan.arms.values() if arm.time_limit):
        arm = next(arm for arm in plan.arms.values() if str(arm.time_limit) == limit)
        if not isinstance(arm.time_limit, TimeLimits):
            yield Text(
                "You have {seconds:# second|# seconds} for a task from the moment it is shown.",
                seconds=_whole(arm.limits[0]),
            )
            continue
        each = (
            Text("{value} — {seconds:# second|# seconds}", value=value, seconds=_whole(seconds))
            for value, seconds in arm.time_limit.seconds.items()
        )
        yield Text(
            "The time for a task runs from the moment it is shown and depends on its field “{field}”: {limits}.",
            field=arm.time_limit.field,
            limits=joined(each, "; "),
        )


def _whole(number: float) -> float:
    return int(number) if number == int(number) else number


def _said(part: Text | str, language: Language) -> str:
    return part if isinstance(part, str) else part.in_language(language)


def _unfolded(lengths: Sequence[int]) -> int:
    """Return how many examples are shown.

    These are at most `UNFOLDED`, and after the second one only what can be read in a minute.
    """
    fitting = [n for n, total in enumerate(accumulate(lengths), start=1) if n <= 2 or total <= _UNFOLDED_TEXT]
    return min(len(fitting), UNFOLDED)


def _task(language: Language, declared: Dataset, known: TaskDescription | None) -> Text | str:
    if known:
        return known.task[language]
    if language == "en" and declared.about:
        return f"{declared.about.rstrip('.')}."
    return {
        "choice": Text("In each task, read the question and choose the right answer."),
        "integer": Text("In each task, read the problem and find a number."),
        "text": Text("In each task, read the question and answer it briefly in your own words."),
        "program": Text("In each task, read the description and write a program."),
        "criteria": Text("In each task, read the text and answer one question about it."),
    }[declared.answer.kind]


def _steps(language: Language, declared: Dataset, known: TaskDescription | None) -> list[Text | str]:
    """Return the steps of an answer."""
    how = known.answer[language] if known and known.answer else _said(_form(declared, known), language)
    for label, meaning in known.labels.items() if known else ():
        how += f"\n   - {_bold(label)} — {meaning[language]}"
    steps: list[Text | str] = [
        Text("Read the task to the end: its beginning or its end says what form the answer must have.")
    ]
    if declared.media:
        steps.append(Text("Open the picture, recording or film if there is one, and study all of it."))
    steps.append(how)
    if not declared.answer.labels:
        steps.append(Text("Answer only what is asked: extra words or signs can make a right answer wrong."))
    steps.append(
        Text(
            "Work on your own. If you are not sure, give the answer that seems most likely to you. After you have sent "
            "a page, its answers are final."
        )
    )
    return steps


def _form(declared: Dataset, known: TaskDescription | None) -> Text:
    """The form of an answer, if the description of the dataset does not say it."""
    answer = declared.answer
    if known and known.labels:
        return Text("Choose one answer:")
    if "grade_norm" in declared.metrics:
        return Text(
            "Write the answer in the form that the task requires: numbers separated by commas without spaces (for "
            "example 1,4), or a word in lower case. If several words are needed, write them without spaces and commas."
        )
    if answer.kind == "choice" or (answer.kind == "criteria" and answer.labels != ("0", "1")):
        labels = ", ".join(f"**{label}**" for label in answer.labels)
        if {*declared.hidden} & {*option_fields(declared).values()}:
            return Text("Choose one of the answers that the task lists, from these: {labels}.", labels=labels)
        return Text("Choose one of these answers: {labels}.", labels=labels)
    return {
        "integer": Text(
            "Write the answer as a whole number in digits, without spaces, units or explanations."
        ),
        "text": Text("Write a short answer, one word or a few words, without explanations."),
        "program": Text("Write what the task asks for: the body of the function or the whole function."),
        "criteria": Text("Answer one question about the act: **1** is yes, **0** is no."),
    }[answer.kind]


def _bold(labels: str) -> str:
    """Return labels in bold, a long series by its ends."""
    each = labels.split(", ")
    shown = each if len(each) < 6 else [each[0], each[1], "…", each[-1]]
    return ", ".join(label if label == "…" else f"**{label}**" for label in shown)


def _example(example: Item, declared: Dataset, language: Language) -> tuple[str, str]:
    """A solved item: its prompt, and its answer or its alternative answers."""
    gold, program = one_answer(example.outputs), example.meta.get("canonical_solution")
    separator = alternatives_of(example, declared)
    code = "python" if declared.answer.kind == "program" else "text"
    prompt = fenced(render(example, declared), code)
    if code == "python" and isinstance(program, str):
        return prompt, "\n\n" + fenced(program.strip("\n"), code)
    if isinstance(gold, list):
        return prompt, "\n\n" + fenced("\n".join(map(str, gold)), code)
    first, *others = filter(None, map(str.strip, str(gold).split(separator) if separator else [str(gold)]))
    answer: Text | str = first
    for other in others:
        answer = Text("{one} or {other}", one=answer, other=other)
    return prompt, " " + _said(answer, language)


def fenced(text: str, language: str = "text") -> str:
    """Put a text into a fenced block of Markdown that the text cannot close.

    Example:
        >>> fenced("2 + 2 =").splitlines()
        ['```text', '2 + 2 =', '```']
    """
    longest = max((len(ticks) for ticks in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def instruction_html(markdown: str, arm: Arm, language: Language) -> str:
    """Return the instruction of a group of annotators as HTML without scripts.

    Its time limit, or the longest of several, and its option to skip own items are added unless they are stated.
    """
    html, added = html_of(markdown), []
    limit = f"{max(arm.limits):g}" if arm.limits else ""
    if limit and not re.search(rf"(?<![\d.,]){re.escape(limit)}(?![\d.,]*\d)", html):
        added.append(Text("The time limit is {limit} s for a task.", limit=limit))
    if arm.skip_own and SKIP_OWN[language].casefold() not in html.casefold():
        must = Text(
            "If you have the slightest suspicion that you wrote a question yourself, you must choose “{option}”.",
            option=SKIP_OWN[language],
        )
        added.append(must)
    return html + "".join(f"<p><strong>{escape(text.in_language(language))}</strong></p>\n" for text in added)


def html_of(markdown: str) -> str:
    r"""Convert Markdown to HTML; HTML inside it stays text, links to scripts stay text too.

    Further examples are folded.

    Example:
        >>> html_of("*Answer*: <script>alert(1)</script>")
        '<p><em>Answer</em>: &lt;script&gt;alert(1)&lt;/script&gt;</p>\n'
    """
    from markdown_it import MarkdownIt  # noqa: PLC0415 - needed only where an instruction is written

    # "zero" media: an image of an instruction would be loaded from anywhere.
    reader = (
        MarkdownIt("commonmark", {"html": False})
        .enable("table")
        .disable(["image", "html_block", "html_inline"])
    )
    headings = "|".join(
        re.escape(_MORE_EXAMPLES.in_language(language).removeprefix("## ")) for language in LANGUAGES
    )
    return re.sub(
        rf"<h2>(?P<title>{headings})</h2>\n(?P<body>.*?)(?=<h[12]>|\Z)",
        r"<details><summary>\g<title></summary>\n\g<body></details>\n",
        str(reader.render(markdown)),
        flags=re.DOTALL,
    )

"""Render an item and its template to the prompt that both people and models read; and the item's bare form.

A template names the fields of `inputs` in braces (`{question}`), media in angle brackets (`<image>`). The template is
filled in one pass, so text from the data is never filled again, even if it looks like a placeholder. Braces that name
no field are text: the templates of BPS contain `{}`, and those of ruTiE have stray braces.

The bare form of an item has its fields and a label for the answer, without the instruction. In a request to a model,
every shot but the first and the question after shots have this form. The forms of the built-in datasets are bundled
with their prompts, those of Merilo and those of the benchmark's harness. A custom declaration may give its own
(`bare`); by default, the form lists the fields.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from random import Random
from types import MappingProxyType
from typing import Any, Final

from merilo.datasets.declaration import CATALOGUE, Dataset
from merilo.errors import DataError
from merilo.items import Item
from merilo.strict_json import Json
from merilo.text import Text

_CYRILLIC: Final = re.compile(r"[\u0400-\u04ff]")

#: A field in braces, or a media field in angle brackets.
PLACEHOLDER: Final = re.compile(r"\{([^\W\d]\w*)\}|<([^\W\d]\w*)>")

#: The placeholder for the earlier turns of a dialogue (ruTiE).
CONTEXT: Final = "context"


@dataclass(frozen=True, slots=True)
class Media:
    """A picture, sound or film in a prompt.

    Attributes:
        field: the field's name.
        path: the file's path from `inputs`, below `samples/`.
    """

    field: str
    path: str

    def __str__(self) -> str:
        return f"<{self.field}>"


def render(item: Item, declared: Dataset, *, context: str = "") -> str:
    """Render the prompt of an item, the same for people and models.

    Args:
        item: the item.
        declared: its dataset.
        context: the earlier turns of the dialogue, for templates with a placeholder for them.

    Returns:
        The text; media are shown by name in angle brackets.

    Raises:
        DataError: the template names a field that the item does not have, or there is no prompt with that number.

    Example:
        >>> from merilo.datasets import dataset
        >>> render(Item(1, "Balanced: {inputs} ({} too)?", "( )"), dataset("bps"))
        'Balanced: ( ) ({} too)?'
    """
    return "".join(map(str, parts(item, declared, context=context)))


def parts(item: Item, declared: Dataset, *, context: str = "") -> tuple[str | Media, ...]:
    """Split the prompt of an item into texts and media, in the order in which they are shown.

    Raises:
        DataError: as for `render`.
    """
    text, values = template(item, declared), _values(item, declared, context)
    shown: list[str | Media] = []
    end = 0
    for in_braces, in_angles, start, after in _placeholders(text):
        if in_braces is not None:
            if in_braces not in values:
                wrong = f"the prompt of item {item.id} names {{{in_braces}}}, which the item does not have"
                raise DataError(wrong, field="inputs")
            filling: str | Media = shown_value(values[in_braces])
        elif in_angles in declared.media:
            filling = Media(in_angles, _path(item, in_angles))
        else:
            continue  # angle brackets around anything else are text
        shown += text[end:start], filling
        end = after
    return (*shown, text[end:])


def template(item: Item, declared: Dataset) -> str:
    """Return the template of an item: its own, or the dataset's prompt with that number, or the only one.

    Raises:
        DataError: there is no prompt with that number.
    """
    if isinstance(item.instruction, str):
        return item.instruction
    known = prompts(declared).get(group(item, declared), ())
    if not 0 <= item.instruction < len(known) and len(known) != 1:
        wrong = (
            f"item {item.id} asks for prompt {item.instruction}, but there are {len(known)}, numbered from 0"
        )
        raise DataError(wrong, field="instruction")
    text = known[0] if len(known) == 1 else known[item.instruction]
    lacking = _lacking(item, declared)
    return _without(text, lacking, declared.media) if lacking else text


def _lacking(item: Item, declared: Dataset) -> tuple[str, ...]:
    """Return the hidden fields that an item lacks."""
    inputs = item.inputs if isinstance(item.inputs, Mapping) else {}
    return tuple(name for name in declared.hidden if name not in inputs)


@cache
def _without(text: str, lacking: tuple[str, ...], media: tuple[str, ...]) -> str:
    r"""Leave the options and media that an item lacks out of a prompt.

    Example:
        >>> _without("<image_1>, <image_2>\nA. {option_a}\nB. {option_b}", ("image_2", "option_b"), ("image_2",))
        '<image_1>\nA. {option_a}'
    """
    for name in lacking:
        if name in media:
            text = re.sub(rf",?\s*<{name}>", "", text)
        elif re.fullmatch("option_[a-z]", name):
            # Some published prompts have a backslash and an n in place of a line's end.
            text = re.sub(rf"(?:(?:\\n|\s)+\w[.):]+)?\s*\{{{name}\}}", "", text)
    return text


def prompts(declared: Dataset) -> Mapping[str, tuple[str, ...]]:
    """Return a dataset's prompts by group; a dataset without groups has one group, named by the empty string."""
    return declared.prompts or _bundled_prompts(declared.name)


def group(item: Item, declared: Dataset) -> str:
    """Return the prompt group of an item.

    Raises:
        DataError: the item does not name its group.
    """
    if declared.prompts_by is None:
        return ""
    value = item.value(declared.prompts_by)
    if not isinstance(value, str):
        raise DataError(f"item {item.id} has no {declared.prompts_by}", field=f"meta.{declared.prompts_by}")
    return value


def spread(items: Sequence[Item], declared: Dataset, *, seed: int) -> list[Item]:
    """Give each item a prompt of its dataset, so that all prompts of a group are used equally often.

    In each group, all prompts are assigned in a random order before any is used again: the counts of two prompts of a
    group differ by at most one. An item that lacks hidden fields gets a prompt that does not name them.

    Args:
        items: the items; their own instructions are replaced.
        declared: their dataset.
        seed: random seed for the order.

    Raises:
        DataError: an item's group has no prompts, or none that the item can fill.
    """
    random = Random(f"prompts {declared.name} {seed}")  # noqa: S311 - reproducible on purpose, not a secret
    decks: dict[tuple[str, tuple[str, ...]], Iterator[str]] = {}
    asked: list[Item] = []
    for item in items:
        key = group(item, declared), _lacking(item, declared)
        if key not in decks:
            decks[key] = _dealt(_fillable(item, declared, *key), random)
        asked.append(replace(item, instruction=next(decks[key])))
    return asked


def _fillable(item: Item, declared: Dataset, name: str, lacking: Sequence[str]) -> Sequence[str]:
    """Return the prompts of a group that do not name what an item lacks."""
    known = prompts(declared).get(name)
    if not known:
        missing = f"{declared.title} has no prompts for '{name}'"
        raise DataError(missing, field=f"meta.{declared.prompts_by}")
    full = tuple(text for text in known if not any(f"{{{field}}}" in text for field in lacking))
    if known := full or _bundled_prompts(declared.name, "without_hidden").get("", ()):
        return known
    missing = f"every prompt of {declared.title} names {lacking[0]}, which item {item.id} lacks"
    raise DataError(missing, field="inputs")


def _dealt(texts: Sequence[str], random: Random) -> Iterator[str]:
    while True:
        yield from random.sample(texts, len(texts))


@lru_cache(256)  # a dataset has few templates and many items
def _placeholders(text: str) -> tuple[tuple[str | None, str, int, int], ...]:
    """The field in braces or in angle brackets of each placeholder, and where it begins and ends."""
    return tuple((match[1], match[2], match.start(), match.end()) for match in PLACEHOLDER.finditer(text))


def _values(item: Item, declared: Dataset, context: str) -> Mapping[str, Json]:
    """Return the values for placeholders."""
    own = (
        item.inputs
        if isinstance(item.inputs, Mapping)
        else {"inputs": item.inputs, declared.placeholder: item.inputs}
    )
    return {CONTEXT: context, **own} if declared.shots.earlier_turns else own


def _path(item: Item, field: str) -> str:
    path = item.inputs.get(field) if isinstance(item.inputs, Mapping) else None
    if not isinstance(path, str) or not path:
        raise DataError(f"item {item.id} has no file for <{field}>", field=f"inputs.{field}")
    return path


def shown_value(value: Json) -> str:
    """Convert a value to text: texts and numbers as they are, null as an empty string, lists and objects as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def bare_parts(item: Item, declared: Dataset) -> tuple[str | Media, ...]:
    r"""Split the bare form of an item into texts and media, in the order in which they are shown.

    Raises:
        DataError: the form names a field that the item does not have, or there is no form for the item's group.

    Example:
        >>> from merilo.datasets import dataset
        >>> bare_parts(Item(1, "", "( )"), dataset("bps"))[1]
        '( )'
    """
    known = bare_forms(declared)
    form = _of_group(known, item, declared) if known else _listed_fields(item, declared)
    return parts(replace(item, instruction=form), declared)


def _of_group(forms: Mapping[str, str], item: Item, declared: Dataset) -> str:
    if "" in forms:
        return forms[""]
    if (name := group(item, declared)) not in forms:
        missing = f"{declared.title} has no bare form of a question for '{name}'"
        raise DataError(missing, field=f"meta.{declared.prompts_by}")
    return forms[name]


def bare_forms(declared: Dataset) -> Mapping[str, str]:
    """Return a dataset's bare forms by group of prompts; empty if a form is made of the fields."""
    if declared.bare:
        return declared.bare
    bundled = _bundled(declared.name)
    return _by_group(bundled.get("bare") or bundled.get("harness", {}).get("bare", {}))


def _by_group(forms: Any) -> Mapping[str, Any]:  # noqa: ANN401 - texts, or lists of texts
    """Return forms by group; those of a dataset without groups have the empty name."""
    return forms if isinstance(forms, Mapping) else {"": forms}


@dataclass(frozen=True, slots=True)
class HarnessPrompts:
    """How the benchmark's harness writes the items of a dataset.

    Attributes:
        bare: the bare forms by group of prompts; a form for the empty name is used for all groups.
        strip: whether white space around a bare form is removed.
        after_instruction: what is appended to a filled instruction.
    """

    bare: Mapping[str, str]
    strip: bool = False
    after_instruction: str = ""

    def question(self, item: Item, declared: Dataset, *, context: str = "") -> str:
        """Return an item with its instruction, as the first shot and a question without shots have it.

        Raises:
            DataError: as for `render`.
        """
        return render(item, declared, context=context).strip() + self.after_instruction

    def bare_question(self, item: Item, declared: Dataset) -> str:
        """Return the bare form of an item, as the other shots and a question after shots have it.

        Raises:
            DataError: as for `bare_parts`.
        """
        shown = render(replace(item, instruction=_of_group(self.bare, item, declared)), declared)
        return shown.strip() if self.strip else shown


def harness_prompts(declared: Dataset) -> HarnessPrompts | None:
    r"""Return how the benchmark's harness writes a dataset; `None` if it does not have the dataset.

    Example:
        >>> from merilo.datasets import dataset
        >>> harness_prompts(dataset("lcs")).bare_question(Item(1, "", "ab ba"), dataset("lcs"))
        'Строки: ab ba\nОтвет:'
    """
    known = CATALOGUE.get(declared.name)
    if known is None or (known.fields, known.placeholder) != (declared.fields, declared.placeholder):
        return None
    bundled = _bundled(declared.name)["harness"]
    return HarnessPrompts(**bundled | {"bare": _by_group(bundled["bare"])})


def option_fields(declared: Dataset) -> Mapping[str, str]:
    """Map each label to the field that holds its option, such as "A" to `option_a`; empty if options have no fields.

    Example:
        >>> from merilo.datasets import dataset
        >>> dict(option_fields(dataset("parus"))), dict(option_fields(dataset("bps")))
        ({'1': 'choice1', '2': 'choice2'}, {})
    """
    labels = declared.answer.labels
    for name in declared.fields:
        stem = name.removesuffix(labels[0].lower()) if labels else name
        fields = {label: f"{stem}{label.lower()}" for label in labels}
        if stem not in {name, ""} and set(fields.values()) <= set(declared.fields):
            return MappingProxyType(fields)
    return MappingProxyType({})


def offered_labels(item: Item, declared: Dataset) -> tuple[str, ...]:
    """Return the labels that an item offers: items with fewer options than others lack the last ones.

    Example:
        >>> from merilo.datasets import dataset
        >>> declared = dataset("rummlu")
        >>> offered_labels(Item(1, "", {"option_a": "yes", "option_b": "no"}), declared)
        ('A', 'B')
    """
    labels = declared.answer.labels
    if not isinstance(item.inputs, Mapping):
        return labels
    fields = option_fields(declared)
    offered = tuple(label for label in labels if label not in fields or fields[label] in item.inputs)
    # The items of some pools have none of the dataset's fields.
    return offered if len(offered) > 1 else labels


def in_english(declared: Dataset, items: Sequence[Item]) -> bool:
    """Return whether a dataset of one's own has no Cyrillic letter in the templates of some items."""
    return declared.name not in CATALOGUE and not any(
        _CYRILLIC.search(template(item, declared)) for item in items
    )


def _listed_fields(item: Item, declared: Dataset) -> str:
    """Make a form of a custom dataset: one line per field that prompts must name, options after their labels."""
    labels = {field: label for label, field in option_fields(declared).items()}
    answer = Text("Answer:").in_language("en" if in_english(declared, [item]) else "ru")
    if not declared.fields:
        return f"{{{declared.placeholder}}}\n{answer}"
    lines = []
    offered = {*item.inputs} & {*labels} if isinstance(item.inputs, Mapping) else set()
    for name in declared.fields:
        shown = f"<{name}>" if name in declared.media else f"{{{name}}}"
        if name not in declared.hidden or name in offered:
            lines.append(f"{labels[name]}. {shown}" if name in labels else shown)
    return "\n".join([*lines, answer])


def _bundled_prompts(name: str, key: str = "prompts") -> Mapping[str, tuple[str, ...]]:
    """Return the prompts bundled with Merilo under a key of the dataset's file, by group."""
    return {group: tuple(forms) for group, forms in _by_group(_bundled(name).get(key, {})).items()}


@cache
def _bundled(name: str) -> Mapping[str, Any]:
    """Return the content of a dataset's file of prompts; empty if Merilo has none."""
    import yaml  # noqa: PLC0415 - not needed if an item has its own template

    file = files("merilo.datasets") / "prompts" / f"{name}.yaml"
    return MappingProxyType(yaml.safe_load(file.read_text("utf-8")) if file.is_file() else {})

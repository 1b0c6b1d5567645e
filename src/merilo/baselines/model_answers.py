"""A model's answers in the spelling of the annotators' answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, cast, get_args

from merilo.answer_tables import AnswerRecord, read_answer_records
from merilo.baselines.baseline_reader import StoredBaseline
from merilo.datasets import CATALOGUE, Answer, Dataset
from merilo.datasets.declaration import AnswerKind
from merilo.datasets.program_literals import program_golds
from merilo.errors import InputError
from merilo.metrics.answers import AnswerContentError, AnswerTypeError, read_answer
from merilo.metrics.pass_at_k import FAILED, PASSED, is_right
from merilo.metrics.plain_dataset import PlainAnswer, PlainDataset
from merilo.metrics.scoring import gold_label
from merilo.metrics.worth import NamedPart, parts
from merilo.models.harness_logs.harness_answers import (
    HarnessAnswers,
    LogMapping,
    is_harness_log,
    only_log,
    read_harness_log,
)
from merilo.models.harness_logs.item_matching import NamedItem
from merilo.people.gold_file import text_of
from merilo.people.labels import unify
from merilo.people.normalisation import canonical, rules_of
from merilo.people.spelling import key_of
from merilo.strict_json import Json

#: The form of the results of programs.
_PROGRAM: Final = Answer(kind="program")

#: With more different gold answers than this, answers are read as free texts.
_MOST_LABELS: Final = 20


@dataclass(frozen=True, slots=True)
class Samples:
    """A model's answers.

    Attributes:
        model: the name of the model.
        file: the file, with its name as given.
        answers: mapping from item id to its answers, in the order of the samples.
        log: how the answers were found in the log of another harness; `None` for a file of answers.
        unasked: how many items of a run have no answer, because it was interrupted or requests failed.
    """

    model: str
    file: str
    answers: dict[str, tuple[str, ...]]
    log: LogMapping | None = None
    unasked: int = 0


def read_samples(path: Path, crowd: StoredBaseline) -> Samples:
    """Read a model's answers and bring them to the spelling of the annotators' answers.

    Args:
        path: a file of answers as `merilo.answer_tables` reads it, with `sample` if the model answered an item more than
            once; in JSON, the answer may also be the list of all samples. Or the log of another harness, or a folder with
            such a log (`merilo.models.harness_logs`).
        crowd: the annotators with whom the model is compared.

    Raises:
        InputError: the file has no ids or answers, or has two answers to an item without sample numbers.
        DataError: the log of another harness has no answer to an item of the baseline.
    """
    log = _harness_log(path, crowd)
    records = log.records if log else read_answer_records(path)
    found: dict[str, dict[str, str]] = {}
    golds = _results(crowd)
    sampled = False
    for record in records:
        sampled = sampled or record.sample is not None
        item = _folded(record.id)
        if not item:
            raise InputError("has an answer without an id", file=path, row=record.row)
        answers = found.setdefault(item, {})
        for name, text in _verdicts(path, record, golds) if golds else _samples(path, record):
            if name in answers:
                hint = (
                    ""
                    if sampled
                    else "; if the model answered items several times, number its answers in 'sample'"
                )
                raise InputError(f"item {item[:60]!r} is answered twice{hint}", file=path, row=record.row)
            answers[name] = text
    if not found:
        raise InputError("has no answers", file=path)
    spelling = _spelling({answer for answers in found.values() for answer in answers.values()}, crowd)
    return Samples(
        (log.mapping.model if log else None) or path.stem,
        str(path),
        {
            item: tuple(spelling[answer] for _, answer in _by_sample(answers))
            for item, answers in found.items()
        },
        log.mapping if log else None,
    )


def by_criterion(
    crowd: StoredBaseline, models: Sequence[Samples]
) -> dict[str, tuple[StoredBaseline, list[Samples]]]:
    """Divide a baseline and models' answers by correlation, if the gold answer of an item has a label for each criterion.

    Annotators give one label, which is compared with the label of each criterion. Models give one label too, or a label for
    each criterion.

    Args:
        crowd: the annotators of the baseline.
        models: the models' answers.

    Returns:
        A mapping from the name of a correlation (`correct.virtue`) to the baseline and the models on its items, with single
        labels as gold and as answers; empty for other datasets.
    """
    if not crowd.declaration.answer.criteria:
        return {}
    return {
        part.name: (_part_of_people(crowd, part), [_part_of_model(one, crowd, part) for one in models])
        for part in parts(crowd.declaration, crowd.items)[1]
    }


def _part_of_people(crowd: StoredBaseline, part: NamedPart) -> StoredBaseline:
    own = crowd.on(part.rows)
    gold = tuple(gold_label(item, part.criterion) for item in own.items)
    items = tuple(replace(item, outputs=label) for item, label in zip(own.items, gold, strict=True))
    form = PlainAnswer("choice", tuple(crowd.declaration.answer.labels))
    declaration = PlainDataset(crowd.declaration.name, (part.metric,), form, part.name)
    return replace(own, gold=gold, items=items, declaration=declaration)


def _part_of_model(model: Samples, crowd: StoredBaseline, part: NamedPart) -> Samples:
    other = set(crowd.names) - {crowd.names[row] for row in part.rows}
    criterion, labels = str(part.criterion), crowd.declaration.answer.labels
    return replace(
        model,
        answers={
            name: tuple(_label_of(answer, criterion, labels) for answer in given)
            for name, given in model.answers.items()
            if name not in other
        },
    )


def _label_of(answer: str, criterion: str, labels: Sequence[str]) -> str:
    """Return the label that an answer gives to a criterion: an answer is one label, or a JSON object of criteria."""
    if answer.startswith("{"):
        try:
            given = json.loads(answer)
        except ValueError:
            return answer
        answer = _folded(given.get(criterion) if isinstance(given, dict) else None)
    return unify([answer], labels)[answer]


def log_file(path: Path, crowd: StoredBaseline) -> Path:
    """Return the file that a path means: the log in a folder that answers the baseline's items, or the file itself.

    Raises:
        InputError: the folder holds no log of another harness.
        DataError: the folder holds several logs with items of the baseline, or none.
    """
    return only_log(path, _declared(crowd), _named_items(crowd)) if path.is_dir() else path


def _harness_log(path: Path, crowd: StoredBaseline) -> HarnessAnswers | None:
    """Read the log of another harness; `None` if the file is a file of answers."""
    if not is_harness_log(path):
        return None
    return read_harness_log(path, _declared(crowd), _named_items(crowd))


def _named_items(crowd: StoredBaseline) -> list[NamedItem]:
    return [NamedItem(name, item) for name, item in zip(crowd.names, crowd.items, strict=True)]


def _declared(crowd: StoredBaseline) -> Dataset:
    """Return the declaration of the baseline's dataset.

    Outside the catalogue, a dataset without labels of its own has its gold answers as labels if they are few.
    """
    plain = crowd.declaration
    if plain.name in CATALOGUE:
        return CATALOGUE[plain.name]
    labels = plain.answer.labels or tuple(sorted(set(crowd.gold)))
    kind = plain.answer.kind if plain.answer.kind in get_args(AnswerKind) else "choice"
    if kind == "choice" and not 2 <= len(labels) <= _MOST_LABELS:
        kind = "text"
    answer = Answer(
        kind=cast("AnswerKind", kind),
        labels=labels if kind in {"choice", "criteria"} else (),
        criteria=plain.answer.criteria,
        alternatives=plain.answer.alternatives if kind == "text" else None,
    )
    name = plain.name or "these items"
    return Dataset(name=name, title=name, answer=answer, metrics=plain.metrics)


def _samples(path: Path, record: AnswerRecord) -> Iterator[tuple[str, str]]:
    """Yield the samples of a record: one, or in JSON a list."""
    given = record.answer
    if not isinstance(given, list):
        yield record.sample or "1", _folded(given)
        return
    if not all(isinstance(one, str | int | float | None) for one in given):
        raise InputError("the answer is neither a text nor a list of texts", file=path, row=record.row)
    if not given:
        raise InputError("the list of answers is empty", file=path, row=record.row)
    for number, one in enumerate(given, start=1):
        yield str(number), _folded(one)


def _results(crowd: StoredBaseline) -> dict[str, list[str]]:
    """Return the expected results of the tests by item, if the answers are programs; else nothing."""
    if crowd.declaration.answer.kind != "program":
        return {}
    return {name: program_golds(item) for name, item in zip(crowd.names, crowd.items, strict=True)}


def _verdicts(path: Path, record: AnswerRecord, golds: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    """Yield the verdict on each program of a record: whether its results are those of the item's tests."""
    try:
        generations = read_answer(_PROGRAM, record.answer)
    except (AnswerTypeError, AnswerContentError) as error:
        raise InputError(
            f"are not the results of programs ({error}): 'merilo run' and 'merilo code score' write them",
            file=path,
            row=record.row,
        ) from error
    gold = golds.get(_folded(record.id), [])
    for number, results in enumerate(generations, start=1):
        right = not isinstance(results, str) and is_right(results, gold)
        yield str(number), PASSED if right else FAILED


def _folded(value: Json) -> str:
    """Convert a value to text, with whitespace folded as in the annotators' answers."""
    return " ".join((text_of(value) or "").split())


def _by_sample(answers: dict[str, str]) -> list[tuple[str, str]]:
    """Sort samples by number; samples with other names follow in the order of the file."""
    return sorted(
        answers.items(), key=lambda pair: int(pair[0]) if pair[0].isdecimal() else len(answers) + 10**9
    )


def _spelling(written: set[str], crowd: StoredBaseline) -> dict[str, str]:
    """Map each answer as typed to its spelling in the annotators' answers, by the same normalisation rules."""
    rules = rules_of(crowd.settings.normalise)
    key = key_of(crowd.declaration)

    def plain(text: str) -> str:
        text = canonical(text, rules) if rules else text
        return key(text, "") if key and crowd.metric != "grade_norm" else text

    known = {plain(label): label for label in reversed((*crowd.labels, *crowd.gold))} if rules or key else {}
    declared = crowd.declaration
    as_typed = bool(declared.name) and (declared.answer.kind == "text" or "grade_norm" in declared.metrics)
    unified = (
        dict(zip(written, written, strict=True))
        if as_typed
        else unify(sorted(written), sorted(set(crowd.gold)))
    )
    return {answer: known.get(plain(label), label) for answer, label in unified.items()}

"""`merilo.score`: score the answers of a model or of annotators to a dataset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from merilo.api.frames import Frame, is_frame, polars_of, records_of
from merilo.datasets import Dataset
from merilo.datasets import dataset as find_dataset
from merilo.errors import DataError, UsageError, argument, for_library
from merilo.items import ItemId, read_split
from merilo.metrics.score import Score
from merilo.metrics.scoring import Scores
from merilo.metrics.scoring import score as score_answers
from merilo.strict_json import Json
from merilo.submissions.evaluation import scores_content
from merilo.submissions.sheets import Sheet, match, read_sheet


@dataclass(frozen=True, slots=True, repr=False)
class ScoreResult:
    """The scores of a set of answers.

    Attributes:
        dataset: the dataset's name.
        scores: the internal representation of the metrics.
        items: how many items the dataset has.
        answered: how many of these items were answered.
        unanswered: the ids of items without an answer.
        unknown: the ids of answers that match no item.
        seed: random seed for the bootstrap resamples of the intervals.
    """

    dataset: str
    scores: Scores
    items: int
    answered: int
    unanswered: tuple[ItemId, ...]
    unknown: tuple[str, ...]
    seed: int

    @property
    def metrics(self) -> dict[str, Score]:
        """Return the metrics by name, the main one first, each with `value`, `n` and `interval`."""
        return self.scores.all()

    @property
    def missing(self) -> dict[str, str]:
        """Return a mapping from metric to the reason why it could not be computed."""
        return {name: for_library(reason) for name, reason in self.scores.missing.items()}

    def to_dict(self) -> dict[str, Json]:
        """Return the scores as JSON, as `merilo score --json` prints them."""
        return {
            "dataset": self.dataset,
            "items": {"total": self.items, "answered": self.answered},
            "unanswered": [*self.unanswered],
            "unknown": [*self.unknown],
            "metrics": scores_content(self.scores),
            "seed": self.seed,
        }

    def __repr__(self) -> str:
        lines = [f"{self.dataset}: {self.answered} of {self.items} items answered"]
        for name, one in self.metrics.items():
            sure = f" [{one.interval.low:.3f}, {one.interval.high:.3f}]" if one.interval else ""
            lines.append(f"  {name} {one.value:.3f}{sure} on {one.n} items")
        return "\n".join([*lines, *(f"  {name}: {why}" for name, why in self.missing.items())])


def score(
    answers: str | Path | Frame | Mapping[str, Json],
    *,
    dataset: str | Dataset,
    data: str | Path,
    split: str | None = None,
    seed: int = 0,
) -> ScoreResult:
    """Score answers of a model or of annotators to a dataset.

    Args:
        answers: a file of `id` and `answer`, a submission file, a table of `id` and `answer`, or a mapping from item id
            to answer.
        dataset: a dataset's name, the path of a YAML declaration, or a declaration object.
        data: the items with their gold answers: JSON, JSONL or Parquet.
        split: the split of the file; by default "test", or the only split.
        seed: random seed for the bootstrap resamples of the intervals.

    Raises:
        UsageError: there is no such dataset.
        InputError: a file cannot be read, or an answer has not the type that the dataset declares.
        DataError: no answer matches an item.
    """
    declared = find_dataset(dataset) if isinstance(dataset, str) else dataset
    items = read_split(Path(data), split).items
    sheet = read_sheet(Path(answers)) if isinstance(answers, str | Path) else _sheet(answers)
    matched = match(sheet, items, declared.answer)
    if not matched.given:
        raise DataError(
            f"not one of {len(matched.unknown)} answers belongs to an item of {data}", file=sheet.file
        )
    return ScoreResult(
        declared.name,
        score_answers(declared, items, matched.given, seed=seed),
        len(items),
        len(matched.given),
        matched.unanswered,
        matched.unknown,
        seed,
    )


def _sheet(answers: Frame | Mapping[str, Json]) -> Sheet:
    """Convert answers in memory to the form of an answer file."""
    given: list[tuple[str, Json]]
    if isinstance(answers, Mapping):
        given = [(str(name), answer) for name, answer in answers.items()]
    elif is_frame(answers):
        rows = records_of(polars_of(answers))
        if rows and not {"id", "answer"} <= rows[0].keys():
            raise UsageError("a table needs the columns id and answer", field=argument("answers"))
        given = [(str(row["id"]), row["answer"] or "") for row in rows]
    else:
        raise UsageError("takes a file, a table or a mapping", field=argument("answers"))
    names = [name for name, _ in given]
    if len(set(names)) < len(names):
        raise UsageError("answers an item twice", field=argument("answers"))
    return Sheet("answers", dict(given), {name: row for row, name in enumerate(names, start=1)})

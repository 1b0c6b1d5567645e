"""`merilo.compare`: compare annotators with models on the same items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from merilo.baselines.baseline_reader import StoredBaseline, read_stored_baseline, stored_baseline_of
from merilo.baselines.model_answers import Samples, by_criterion, read_model, read_samples
from merilo.baselines.model_comparison import ModelComparison
from merilo.baselines.model_comparison import compare as compare_models
from merilo.baselines.model_disagreement import (
    ModelDisagreement,
    OppositeOutcomes,
    model_disagreement,
    opposite_outcomes,
)
from merilo.baselines.model_verdicts import Margin
from merilo.errors import UsageError, argument
from merilo.metrics.plain_dataset import with_metric
from merilo.people.frames import Frame, as_json_lines, is_frame, polars_of, records_of
from merilo.people.uncertainty.annotator_accuracy import MIN_ANSWERS
from merilo.reports.baseline import BaselineResult
from merilo.reports.comparison import comparison_summary, sentences
from merilo.reports.model_sections import with_disagreement
from merilo.reports.opposite_items import with_opposites
from merilo.reports.planned_margin import chosen_margin
from merilo.reports.verdict_prose import verdict_sentence
from merilo.strict_json import Json

Answers = str | Path | Frame | Mapping[str, str | Sequence[str]]


@dataclass(frozen=True, slots=True)
class ComparisonResult:
    """The comparison of annotators with models.

    Attributes:
        found: the comparison of each model with the annotators, in the order of the models.
        baseline: the annotators' answers in the baseline.
        metric: the metric's name.
        seed: random seed for all random draws.
        force: whether items that one side did not answer were left out.
        disagreements: the distributions of people's and the model's labels, in the order of the models.
        opposites: the items on which one side is right and the other wrong, in the order of the models.
        samples: the models' answers.
    """

    found: tuple[ModelComparison, ...]
    baseline: StoredBaseline
    metric: str
    seed: int
    force: bool
    disagreements: tuple[ModelDisagreement, ...] = ()
    opposites: tuple[OppositeOutcomes, ...] = ()
    samples: tuple[Samples, ...] = ()

    @property
    def comparisons(self) -> dict[str, ModelComparison]:
        """Return a mapping from model to its comparison; a second model of the same name is called `name (2)`."""
        named: dict[str, ModelComparison] = {}
        seen: Counter[str] = Counter()
        for one in self.found:
            seen[one.model] += 1
            named[one.model if seen[one.model] == 1 else f"{one.model} ({seen[one.model]})"] = one
        return named

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return the warnings for the reader of the comparison."""
        return tuple(
            f"{name}: {sentence}" for name, one in self.comparisons.items() for sentence in sentences(one)
        )

    def to_dict(self) -> dict[str, Json]:
        """Return the comparison as JSON, as `merilo compare --json` prints it."""
        content = comparison_summary(
            self.baseline, list(self.found), metric=self.metric, seed=self.seed, forced=self.force
        )
        if self.disagreements:
            content["models"] = with_disagreement(content["models"], self.disagreements)
        if self.opposites:
            content["models"] = with_opposites(content["models"], self.opposites)
        return content

    def __repr__(self) -> str:
        lines = []
        for name, one in self.comparisons.items():
            for match in one.matches:
                found, interval = match.difference, match.interval
                if match.verdict:
                    lines.append(verdict_sentence(match, name, "en"))
                lines.append(
                    f"{name}, {match.kind}: people {found.first:.3f}, model {found.second:.3f}, difference {found.value:+.3f} "
                    f"[{interval.low:+.3f}, {interval.high:+.3f}]{'' if match.both else ' over items alone'}, p {match.corrected:.3g} on {found.n} items"
                )
        return "\n".join(lines)


def compare(
    baseline: BaselineResult | str | Path,
    models: Mapping[str, Answers] | Sequence[str | Path],
    *,
    data: str | Path | None = None,
    metric: str | None = None,
    margin: float | None = None,
    force: bool = False,
    min_answers: int = MIN_ANSWERS,
    by: str | Sequence[str] = (),
    cluster: str | None = None,
    seed: int = 0,
) -> ComparisonResult:
    """Compare the annotators of a baseline with models on the same items.

    Args:
        baseline: the result of `baseline`, or the folder of a baseline.
        models: mapping from model to its answers: a file, a table of `id`, `answer` and, for several answers to an item,
            `sample`, or a mapping from item id to an answer or a list of samples. Or a list of files, each named after
            its model.
        data: the items with ids and gold answers, if the baseline was computed without gold.
        metric: a metric that fits the answers; by default, the baseline's main metric.
        margin: the largest difference that counts as none, in (0, 1); with it, equivalence with people is tested. By
            default, `baseline.margin` of the frozen plan of the baseline's study, if there is one.
        force: if the items differ, compare on the items that both answered.
        min_answers: annotators with fewer answers are left out of the model's percentile rank.
        by: fields of the items: the distributions of labels are compared for each of their values too.
        cluster: the field of the items that form a cluster if they have the same value, such as a text; every interval and test
            takes clusters into account. By default, that of the baseline.
        seed: random seed for permutations and bootstrap resamples.

    Raises:
        UsageError: there is no field `cluster`, no model is given, the metric does not fit the answers, or the margin is not between 0 and 1.
        InputError: answers cannot be read.
        DataError: the items differ and `force` is not given, no item has a gold answer, or the study is too small for a
            test of equivalence.
    """
    if isinstance(models, str | Path) or not models:
        raise UsageError("takes models by name, or several files", field=argument("models"))
    given: list[tuple[str, Answers]] = (
        [*models.items()] if isinstance(models, Mapping) else [(str(path), path) for path in models]
    )
    if data is not None and isinstance(baseline, BaselineResult):
        raise UsageError("is for the folder of a baseline: give gold to baseline", field=argument("data"))
    items = None if data is None else Path(data)
    chosen = chosen_margin(None if isinstance(baseline, BaselineResult) else Path(baseline), margin)
    with TemporaryDirectory() as place:
        folder = Path(place)
        people = (
            stored_baseline_of(baseline.details, cluster=cluster)
            if isinstance(baseline, BaselineResult)
            else read_stored_baseline(Path(baseline), data=items, cluster=cluster)
        )
        samples = [
            samples_of(name, answers, people, folder, keep=not isinstance(models, Mapping))
            for name, answers in given
        ]
    fields = [by] if isinstance(by, str) else [*by]
    return compared(
        people,
        samples,
        metric=metric,
        margin=chosen,
        force=force,
        min_answers=min_answers,
        by=fields,
        seed=seed,
    )


def compared(
    people: StoredBaseline,
    samples: Sequence[Samples],
    *,
    metric: str | None = None,
    margin: Margin | None = None,
    force: bool = False,
    min_answers: int = MIN_ANSWERS,
    by: Sequence[str] = (),
    seed: int = 0,
) -> ComparisonResult:
    """Compare the annotators of a baseline with models whose answers have been read.

    The arguments are those of `compare`.

    Raises:
        UsageError: the metric does not fit the answers, or there is no field of `by`.
        DataError: the items differ and `force` is not given, or the study is too small for a test of equivalence.
    """
    parts = by_criterion(people, samples)
    if metric in parts:
        people, samples = parts[metric]
        metric = None
    found = compare_models(
        people, samples, metric=metric, force=force, margin=margin, seed=seed, min_answers=min_answers
    )
    apart = tuple(model_disagreement(people, one, by=by, seed=seed) for one in samples)
    scored = (
        people if metric is None else replace(people, declaration=with_metric(people.declaration, metric))
    )
    opposites = tuple(opposite_outcomes(scored, one, by=by) for one in samples)
    return ComparisonResult(
        tuple(found), people, metric or people.metric_name, seed, force, apart, opposites, tuple(samples)
    )


def samples_of(name: str, given: Answers, people: StoredBaseline, folder: Path, *, keep: bool) -> Samples:
    """Read a model's answers; answers in memory are read by the same rules as a JSON Lines file."""
    if isinstance(given, str | Path):
        found = read_model(Path(given), people)
        return found if keep else replace(found, model=name)
    if isinstance(given, Mapping):
        rows: Sequence[Mapping[str, object]] = [
            {"id": str(item), "answer": answer if isinstance(answer, str) else list(answer)}
            for item, answer in given.items()
        ]
    elif is_frame(given):
        rows = records_of(polars_of(given))
    else:
        raise UsageError(
            f"the answers of '{name}' are no file, no table and no mapping", field=argument("models")
        )
    path = folder / "answers.jsonl"
    path.write_text(as_json_lines(rows), encoding="utf-8")
    return replace(read_samples(path, people), model=name, file=name)

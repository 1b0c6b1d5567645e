"""`merilo.judge`: a model that judges texts in place of people, as JSON, tables and page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, floor
from pathlib import Path
from typing import TYPE_CHECKING, Final

from merilo.answer_tables import read_answer_records
from merilo.baselines.baseline_reader import read_judged_texts
from merilo.baselines.judging import JudgedScore, Judging, judging
from merilo.baselines.record import BASELINE_FILE, read_record
from merilo.errors import InputError, UsageError, argument, for_command_line
from merilo.items import Item
from merilo.models.run_folder import is_run, read_run, refuse_other_items
from merilo.people.gold_file import read_gold_file
from merilo.people.reading import polars_of
from merilo.people.uncertainty.prediction_powered import CorrectedMean
from merilo.records import rounded
from merilo.reports.charts import (
    MODEL_COLOURS,
    WIDTH,
    Chart,
    Shape,
    flowed_legend,
    model_mark,
    page_environment,
)
from merilo.reports.comparison import Answers, models_beside
from merilo.reports.estimates import EMPTY, DataTable, interval_json
from merilo.runs.run_scores import source_of
from merilo.settings import JudgeSettings
from merilo.strict_json import Json
from merilo.text import Text, joined
from merilo.wording import choices, listed, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from merilo.people.alternative_annotator import AlternativeTest
    from merilo.statistics.intervals import Interval

#: The scores in the picture; the table has all.
_MOST_SCORES: Final = 24
_EDGE, _LEFT, _TOP, _ROW = 16.0, 188.0, 10.0, 56.0
#: How many letters of a name a line holds.
_LONGEST: Final = 23


@dataclass(frozen=True, slots=True)
class JudgeResult:
    """Whether a judge may stand in for people, and the scores of the texts.

    Attributes:
        details: the test, the scores, and what was decided.
        settings: how it was tested.
    """

    details: Judging
    settings: JudgeSettings

    @property
    def accepted(self) -> bool:
        """Whether the judge may be used in place of people."""
        return self.details.accepted

    @property
    def reasons(self) -> tuple[str, ...]:
        """Return why the judge is refused, a sentence each."""
        return tuple(one.en for one in self.details.reasons)

    @property
    def scores(self) -> tuple[JudgedScore, ...]:
        """Return the scores, that of all texts first."""
        return self.details.scores

    def to_dict(self) -> dict[str, Json]:
        """Return the result as JSON, as `merilo judge --json` prints it."""
        found, test = self.details, self.details.test
        alpha = found.agreement.intervals.get("krippendorff_alpha")
        return {
            "baseline": found.crowd.folder,
            "judge": found.model,
            "status": "accepted" if found.accepted else "refused",
            "reasons": [*self.reasons],
            "notes": [one.en for one in found.notes],
            "texts": {
                "total": len(found.crowd.names),
                "with_people": found.with_people,
                "without_answer": found.unanswered,
            },
            "agreement": {
                "krippendorff_alpha": rounded(found.agreement.krippendorff_alpha),
                "ci95": interval_json(alpha),
            },
            "test": {
                "epsilon": test.epsilon,
                "winning_rate": rounded(test.winning_rate) if test.tested else None,
                "advantage": rounded(test.advantage) if test.tested else None,
                "ci95": interval_json(test.interval),
                "annotators_with_few_texts": test.others,
                "annotators": [
                    {
                        "annotator": found.crowd.annotators[one.annotator],
                        "texts": one.texts,
                        "judge": rounded(one.judge),
                        "person": rounded(one.person),
                        "p": rounded(one.p),
                        "won": one.won,
                    }
                    for one in test.tested
                ],
            },
            "points": {**found.points} or None,
            "scores": [_score(one) for one in found.scores],
        }

    def page(self) -> str:
        """Return a page in English and Russian, without scripts and links to anything outside itself."""
        found = self.details
        rendered = (
            page_environment()
            .get_template("judge.html.j2")
            .render(
                found=found,
                test_table=test_table(found),
                test_sentence=test_sentence(found.test) if found.test.tested else None,
                scores_table=scores_table(found),
                differences=difference_sentences(found),
                drawing=judge_chart(found),
                colours=MODEL_COLOURS,
            )
        )
        return for_command_line(rendered)

    def __repr__(self) -> str:
        test = self.details.test
        lines = [
            f"{self.details.model}: {'accepted' if self.accepted else 'refused'} (winning rate "
            f"{test.winning_rate:.2f} of {len(test.tested)} annotators)",
            *self.reasons,
        ]
        for one in self.scores:
            found = one.corrected or one.people
            if found:
                name = ", ".join(part for part in (one.group, one.label) if part is not None) or "all texts"
                by = "corrected" if one.corrected else "people"
                lines.append(
                    f"{name}: {by} {found.value:.3f} [{found.interval.low:.3f}, {found.interval.high:.3f}], judge "
                    f"{one.judge:.3f}, {one.with_people} of {one.texts} texts"
                )
        return "\n".join(lines)


def judge(
    baseline: str | Path,
    judge: str | Path | Mapping[str, Answers],
    *,
    data: str | Path | None = None,
    points: Mapping[str, float] | None = None,
    settings: JudgeSettings | None = None,
    **chosen: object,
) -> JudgeResult:
    """Test whether a model may judge texts in place of people, and correct its scores by people's.

    Args:
        baseline: the folder of a baseline: people's judgements of some of the texts.
        judge: the judge: the folder of a run over all texts, a file of `id` and `answer`, or a mapping from its name to
            its answers, as `compare` takes them.
        data: the texts with their ids and fields, if they are not those of a run.
        points: label -> points; by default, numbers are their points, and of other labels the shares are computed.
        settings: how the judge is tested; by default, the defaults of `JudgeSettings`.
        chosen: single settings by name, such as `by="system"`: `epsilon`, `by`, `pair`, `cluster`.

    Raises:
        UsageError: there is no such field or setting, points are missing, or several judges are given.
        InputError: the baseline, the texts or the answers cannot be read.
        DataError: people judged none of the texts, or the judge answered none of theirs.
    """
    if points is not None:
        chosen = {**chosen, "points": tuple(f"{label}={value!r}" for label, value in points.items())}
    settings = JudgeSettings.of(chosen, settings)
    folder = Path(baseline)
    texts = _texts(folder, judge, None if data is None else Path(data))
    crowd = read_judged_texts(folder, texts, cluster=settings.cluster)
    judges = models_beside(crowd, judge if isinstance(judge, Mapping) else [judge])
    if len(judges) != 1:
        raise UsageError("takes one judge", field=argument("judge"))
    return JudgeResult(judging(crowd, judges[0], settings), settings)


def _texts(folder: Path, judge: str | Path | Mapping[str, Answers], data: Path | None) -> Sequence[Item]:
    """Return the texts that the judge was given, in the order of their file."""
    declared = read_record(folder).settings(folder / BASELINE_FILE)[1]
    given = next(iter(judge.values()), {}) if isinstance(judge, Mapping) else judge
    path = Path(given) if isinstance(given, str | Path) else None
    if path is not None and is_run(path):
        run = read_run(path)
        record = run.record.datasets[run.dataset_named(declared.name or None)]
        source = source_of(record, data)
        refuse_other_items(record, source.split.items, source.file)
        return [item for item in source.split if str(item.id) in record.hashes]
    if isinstance(given, str | Path):
        ids = dict.fromkeys(" ".join(record.id.split()) for record in read_answer_records(Path(given)))
    else:
        ids = dict.fromkeys(map(str, given if isinstance(given, Mapping) else polars_of(given)["id"]))
    if not ids:
        raise InputError("has no answers", file=path)
    if data is None:
        return [Item(name, "", {}) for name in ids]
    file = read_gold_file(data)
    if file.id_column is None:
        raise InputError(f"has no column of ids ({choices('id', file.columns)})", file=data)
    fields = [name for name in file.columns if name != file.id_column]
    known = {
        str(name): Item(str(name), "", {key: value for key, value in row.items() if value is not None})
        for name, row in zip(
            file.table[file.id_column], file.table.select(fields).iter_rows(named=True), strict=True
        )
    }
    if missing := [name for name in ids if name not in known]:
        raise InputError(
            f"has not all texts that the judge answered: {len(missing)} of {len(ids)} are missing "
            f"({listed(missing, 5)})",
            file=data,
        )
    return [item for name, item in known.items() if name in ids]


def _score(one: JudgedScore) -> dict[str, Json]:
    return {
        "group": one.group,
        "label": one.label,
        "texts": one.texts,
        "with_people": one.with_people,
        "annotators": one.annotators,
        "corrected": _estimate(one.corrected),
        "people": _estimate(one.people),
        "judge": rounded(one.judge),
        "judge_minus_people": _estimate(one.bias),
        "weight": rounded(one.weight),
        "beside_first": _estimate(one.beside_first),
    }


def _estimate(found: CorrectedMean | None) -> Json:
    """Return an estimate with its interval over texts and annotators."""
    if found is None:
        return None
    return {"value": rounded(found.value), "ci95": interval_json(found.interval)}


def refusal(found: Judging, reason: Text) -> Text:
    """Return one reason why a judge is refused, as a sentence."""
    return Text("{judge} is refused: {reason}", judge=found.model, reason=reason)


def test_table(found: Judging) -> DataTable:
    """Return the table of the judge in place of each annotator."""
    heads = (
        Text("annotator"),
        Text("texts"),
        Text("judge as close"),
        Text("annotator as close"),
        "p",
        Text("won"),
    )
    rows = [
        (
            found.crowd.annotators[one.annotator],
            str(one.texts),
            Text("{value:.3f}", value=one.judge),
            Text("{value:.3f}", value=one.person),
            Text("{p:.2g}", p=one.p),
            Text("yes") if one.won else Text("no"),
        )
        for one in found.test.tested
    ]
    return DataTable(Text("{judge} in place of each annotator", judge=found.model), heads, rows)


def test_sentence(test: AlternativeTest) -> Text:
    """Return the winning rate and the advantage of a judge."""
    return Text(
        "Winning rate {rate:.2f} (at least 0.50 passes); average advantage probability {advantage:.3f}{interval}",
        rate=test.winning_rate,
        advantage=test.advantage,
        interval="" if test.interval is None else joined([" ", _ends(test.interval)], ""),
    )


def scores_table(found: Judging) -> DataTable:
    """Return the table of the scores."""
    heads = (
        Text("texts"),
        Text("corrected"),
        Text("people alone"),
        Text("judge alone"),
        Text("judge minus people"),
        Text("judged by people"),
    )
    rows = [
        (
            _name(one),
            _cell(one.corrected),
            _cell(one.people),
            Text("{value:.3f}", value=one.judge),
            _signed_cell(one.bias),
            Text("{n} of {all}", n=one.with_people, all=one.texts),
        )
        for one in found.scores
    ]
    return DataTable(Text("Scores with 95 % intervals over texts and annotators"), heads, rows)


def difference_sentences(found: Judging) -> list[Text]:
    """Return the differences of the groups from the first."""
    first = next((one for one in found.scores if one.group is not None), None)
    return [
        Text(
            "{name} minus {first}: {difference}",
            name=_name(one),
            first=first.group,
            difference=_signed_cell(one.beside_first),
        )
        for one in found.scores
        if one.beside_first and first
    ]


def _name(one: JudgedScore) -> Text | str:
    parts = [part for part in (one.group, one.label) if part is not None]
    return ", ".join(parts) if parts else Text("all texts")


def _cell(found: CorrectedMean | None) -> Text | str:
    if found is None:
        return EMPTY
    return joined([Text("{value:.3f}", value=found.value), _ends(found.interval)])


def _signed_cell(found: CorrectedMean | None) -> Text | str:
    if found is None:
        return EMPTY
    value, span = Text("{value:+.3f}", value=found.value), found.interval
    return joined([value, Text("[{low:+.3f}, {high:+.3f}]", low=span.low, high=span.high)])


def _ends(span: Interval) -> Text:
    return Text("[{low:.3f}, {high:.3f}]", low=span.low, high=span.high)


def judge_chart(found: Judging) -> Chart:
    """Draw the corrected score of each group of texts, people's and the judge's own, with intervals."""
    shown = found.scores[:_MOST_SCORES]
    rows: list[tuple[Text | str, list[CorrectedMean | None], float]] = [
        (_name(one), [one.corrected, one.people], one.judge) for one in shown
    ]
    ends = [one.judge for one in shown]
    for _, estimates, _ in rows:
        for known in filter(None, estimates):
            ends += [known.interval.low, known.interval.high]
    least, most = min(ends), max(ends)
    wide = max(most - least, 1e-6)
    step = next(
        at for at in (10.0**power * digit for power in range(-7, 8) for digit in (1, 2, 5)) if wide / at <= 6
    )
    low, high = floor(least / step - 0.2) * step, ceil(most / step + 0.2) * step
    left, right = _LEFT, WIDTH - 24.0
    bottom = _TOP + _ROW * len(rows)

    def x(value: float) -> float:
        return left + (right - left) * (value - low) / (high - low)

    shapes: list[Shape] = []
    for at in range(round(low / step), round(high / step) + 1):
        shapes.append(Shape("line", (x(at * step), _TOP, x(at * step), bottom), "grid"))
        shapes.append(
            Shape("text", (x(at * step), bottom + 18), "tick", Text("{value:.4g}", value=at * step))
        )
    for place, (name, estimates, judged) in enumerate(rows):
        y = _TOP + _ROW * place
        title = shortened(name, _LONGEST) if isinstance(name, str) else name
        shapes.append(Shape("text", (_EDGE, y + _ROW / 2 + 4), "title", title, "start"))
        for line, estimate in enumerate(estimates):
            at_y = y + _ROW * (line + 1) / 4
            if estimate is not None:
                across = (x(estimate.interval.low), at_y, x(estimate.interval.high), at_y)
                shapes.append(Shape("line", across, f"whisker model-{line}"))
                shapes.append(model_mark(line, x(estimate.value), at_y, 5.5))
        shapes.append(model_mark(2, x(judged), y + _ROW * 3 / 4, 5.5))
        shapes.append(Shape("line", (_EDGE, y + _ROW, right, y + _ROW), "grid"))
    legend: list[tuple[Text | str, int | str]] = [(Text("people alone"), 1), (Text("judge alone"), 2)]
    if found.accepted:
        legend.insert(0, (Text("corrected"), 0))
    drawn, height = flowed_legend(legend, bottom + 46)
    title = Text("Scores of the texts with 95 % intervals")
    return Chart(title, height, [*shapes, *drawn], scrolls=True)

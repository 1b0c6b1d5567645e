"""Score a submission as the benchmark does: all datasets and errors, the total, and readiness for the public table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from merilo.datasets import CATALOGUE, Dataset, dataset
from merilo.datasets.dataset_files import own_file, read_split
from merilo.errors import InputError
from merilo.items import Split, split_file
from merilo.metrics.answers import has_gold
from merilo.metrics.detox import Rater
from merilo.metrics.metric import Score, total_score
from merilo.metrics.scoring import Scores, parts, score
from merilo.strict_json import Json
from merilo.submissions.archive import Archive, ArchiveError, open_archive, shown
from merilo.submissions.submitted_answers import Answers, Fault, parse_file, read_answers
from merilo.text import Text


@dataclass(frozen=True, slots=True)
class GoldItems:
    """A dataset's declaration and its items with gold answers.

    Attributes:
        dataset: the declaration.
        split: the items of the test.
    """

    dataset: Dataset
    split: Split


@dataclass(frozen=True, slots=True)
class DatasetResult:
    """The result of a submission on one dataset.

    Attributes:
        dataset: the declaration.
        scores: the metrics; all are 0 if the answers have faults.
        answers: the answers with their faults.
    """

    dataset: Dataset
    scores: Scores
    answers: Answers

    @property
    def complete(self) -> bool:
        """Whether the answers have no faults and every metric was computed."""
        return not self.answers.fault_count and not self.scores.missing


@dataclass(frozen=True, slots=True)
class SubmissionResult:
    """The result of a submission.

    Attributes:
        datasets: the results by title, in the order of the catalogue.
        total: the total score over the datasets in `counted`; `None` if there are none.
        counted: the titles of the datasets in the total.
        ready_for_public: whether no dataset that counts in the total has errors or lacks a metric.
        complete: the same of these and of one's own datasets.
        ignored: files of the archive that match no dataset.
        without_gold: titles of datasets that count in the benchmark's total and were not scored because
            gold answers are missing; none if only one's own datasets were scored.
        faults: what is wrong with the archive as a whole.
    """

    datasets: Mapping[str, DatasetResult]
    total: float | None
    counted: tuple[str, ...]
    ready_for_public: bool
    complete: bool
    ignored: tuple[str, ...] = ()
    without_gold: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = field(default=())


def read_gold(place: Path) -> dict[str, GoldItems]:
    """Find the tests of all datasets in a folder, or the test of one's own dataset.

    Args:
        place: a folder with `<name>.json` or `<name>/test.json` (JSONL and Parquet too), in any letter case, and with
            declarations of one's own datasets, `<name>.yaml` or `<name>/dataset.yaml`; or such a declaration.

    Returns:
        Title -> gold, in the order of the catalogue, then one's own. A closed test (one without gold answers)
        is left out.

    Raises:
        InputError: there is no such folder, no test in it, or a file in it cannot be read.
    """
    alone = place.suffix in {".yaml", ".yml"}
    folder = place.parent if alone else place
    if not place.is_file() if alone else not place.is_dir():
        raise InputError("there is no such folder of tests", file=place)
    own = [place] if alone else sorted([*folder.glob("*.yaml"), *folder.glob("*/dataset.yaml")])
    tests = {}
    for declared in [*(() if alone else CATALOGUE.values()), *(dataset(str(path)) for path in own)]:
        file = own_file(declared) or split_file(folder, declared.name)
        split = None if file is None else read_split(file, declared)
        if split is not None and (declared.rated or any(map(has_gold, split))):
            tests[declared.title] = GoldItems(declared, split)
    if not tests:
        expected = "expected <name>.json or <name>/test.json for each dataset, or the declaration of your own"
        raise InputError(f"has no test with gold answers: {expected}", file=place)
    return tests


def stem_of(declared: Dataset) -> str:
    """Return the name of a dataset's file in an archive, without `.json`: its title in the benchmark, or its name."""
    return declared.title if declared.name in CATALOGUE else declared.name


def score_submission(
    path: Path, gold: Mapping[str, GoldItems], *, rater: Rater | None = None
) -> SubmissionResult:
    """Score a submission.

    A dataset with any error scores 0 on all its metrics. A metric that cannot be computed here (J without its
    classifiers, pass@k of fewer than k generations) has a reason instead of a value; it is not
    reported as 0, but counts as 0 in the total.

    Args:
        path: the ZIP archive, one `<DatasetName>.json` a dataset, names in any letter case.
        gold: the datasets to score, from `read_gold`.
        rater: rates the sentences of ruDetox.

    Raises:
        InputError: there is no such file.
        ArchiveError: the archive is broken or hostile.
        DataError: a gold answer is missing or does not fit its metric.
    """
    with open_archive(path) as archive:
        files = _files(archive)
        datasets = {
            title: _score_dataset(archive, files.get(test.dataset.name.casefold(), []), test, rater)
            for title, test in gold.items()
        }
        known = {test.dataset.name.casefold() for test in gold.values()}
        ignored = tuple(name for stem, members in files.items() if stem not in known for name in members)
    return _result(datasets, ignored)


def refused(error: ArchiveError) -> SubmissionResult:
    """Make the result of an archive that cannot be scored."""
    fault = Fault("unreadable_zip", error.reason)
    return SubmissionResult({}, None, (), ready_for_public=False, complete=False, faults=(fault,))


def content_of(result: SubmissionResult) -> dict[str, Json]:
    """Return the JSON that `--json` writes."""
    return {
        "results": {title: _dataset_content(scored) for title, scored in result.datasets.items()},
        "total": result.total,
        "ready_for_public": result.ready_for_public,
        "counted_in_total": list(result.counted),
        "without_gold": list(result.without_gold),
        "ignored_files": [shown(name).strip("'") for name in result.ignored],
        "errors": [fault.content() for fault in result.faults],
    }


def _files(archive: Archive) -> dict[str, list[str]]:
    """Group the archive's files by the stem of their names, in lower case."""
    files: dict[str, list[str]] = {}
    for name in archive.entries:
        if PurePosixPath(name).parts[0] == "__MACOSX":  # macOS adds a file of attributes to each file
            continue
        files.setdefault(PurePosixPath(name).stem.casefold(), []).append(name)
    return files


def _score_dataset(
    archive: Archive, members: Sequence[str], gold: GoldItems, rater: Rater | None
) -> DatasetResult:
    answers = _answers(archive, members, gold)
    declared, items = gold.dataset, gold.split.items
    if not answers.faults:
        return DatasetResult(declared, score(declared, items, answers.given, rater=rater), answers)
    main, extra = (
        {part.name: Score(part.name, 0.0, len(items)) for part in group} for group in parts(declared, items)
    )
    return DatasetResult(declared, Scores(main, extra), answers)


def _answers(archive: Archive, members: Sequence[str], gold: GoldItems) -> Answers:
    wanted = f"{stem_of(gold.dataset)}.json"
    readable = [name for name in members if PurePosixPath(name).suffix.lower() == ".json"]
    if not members:
        return Answers().with_fault("no_task", wanted)
    if not readable:
        return Answers().with_fault("extension", shown(members[0]))
    if len(readable) > 1:
        several = Text("there are several: {names}", names=[*map(shown, readable)])
        return Answers().with_fault("unreadable_file", several)
    content, why = parse_file(archive.read(readable[0]), readable[0])
    if why is not None:
        return Answers().with_fault("unreadable_file", why)
    return read_answers(content, gold.dataset, gold.split.items)


def _result(datasets: Mapping[str, DatasetResult], ignored: tuple[str, ...]) -> SubmissionResult:
    counted = {title: result for title, result in datasets.items() if result.dataset.in_total}
    values = {title: list(_main_values(result)) for title, result in counted.items()}
    total = total_score(values) if counted else None
    scored = {result.dataset.name for result in datasets.values()} & CATALOGUE.keys()
    lacking = [
        declared for declared in CATALOGUE.values() if declared.in_total and declared.name not in scored
    ]
    without = tuple(declared.title for declared in lacking) if scored else ()
    ready = all(result.complete for result in counted.values())
    own = (result.complete for result in datasets.values() if result.dataset.name not in CATALOGUE)
    return SubmissionResult(datasets, total, tuple(counted), ready, ready and all(own), ignored, without)


def _main_values(result: DatasetResult) -> Iterator[float]:
    """Yield the values that count in the total; a missing metric counts as 0."""
    values = {**result.scores.main} or {**result.scores.extra}
    yield from (score.value for score in values.values())
    yield from (0.0 for _ in result.scores.missing)


def _dataset_content(result: DatasetResult) -> dict[str, Json]:
    return {
        "metrics": result.scores.to_dict(),
        "errors": [fault.content() for fault in result.answers.faults],
        "errors_total": result.answers.fault_count,
        "unknown_ids": result.answers.unknown,
        "in_total": result.dataset.in_total,
    }

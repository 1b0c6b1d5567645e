"""`merilo.score_programs`: pass@k of generated programs, each run in a sandbox."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np

from merilo.atomic_write import refuse_existing, refuse_unwritable, write_text
from merilo.baselines.provenance import Provenance, command_line, provenance
from merilo.errors import DataError, OutputError, UsageError, argument
from merilo.estimate import Estimate
from merilo.files import sha256
from merilo.metrics.metric import Score
from merilo.people.influence import person_influence
from merilo.people.votes import Votes
from merilo.sandbox.executors import Jails
from merilo.sandbox.job import (
    Entry,
    Job,
    JobTally,
    ProblemTally,
    Step,
    run_job,
    tally_job,
    unanswered,
    write_generations,
    write_outputs,
)
from merilo.sandbox.ledger import SHORTENED, Ledger, Verdict, open_ledger
from merilo.sandbox.problems import LONGEST_COMPLETION, Census, Problem, count_completions, read_problems
from merilo.sandbox.program import Check, Limits, Outcome, new_judge_seed
from merilo.settings import ProgramSettings
from merilo.statistics.crossed import crossed
from merilo.statistics.intervals import exact_interval
from merilo.strict_json import Json, as_text
from merilo.wording import listed, named, shown


@dataclass(frozen=True, slots=True)
class Author:
    """One person.

    Attributes:
        annotator: the name in the file of completions.
        problems: how many problems they wrote a program for.
        solved: how many of these programs passed.
    """

    annotator: str
    problems: int
    solved: int

    @property
    def share(self) -> float:
        """The share of the person's problems that they solved."""
        return self.solved / self.problems

    def content(self) -> dict[str, Json]:
        """Return the person as JSON, with the Clopper-Pearson interval."""
        interval = exact_interval(self.solved, self.problems)
        return {
            "annotator": self.annotator,
            "problems": self.problems,
            "solved": self.solved,
            "share": round(self.share, 6),
            "ci95": [interval.low, interval.high],
        }


@dataclass(frozen=True, slots=True)
class Authors:
    """The people who wrote the programs of a job.

    Attributes:
        people: all people, by share from the highest to the lowest.
        single: the expected share of problems that a single person solves, with the interval over people and
            problems; the same estimate as "single person" of `merilo baseline`.
    """

    people: tuple[Author, ...]
    single: Estimate

    def content(self) -> dict[str, Json]:
        """Return the people as JSON."""
        return {
            "count": len(self.people),
            "single_person": self.single.to_json(),
            "people": [author.content() for author in self.people],
        }


@dataclass(frozen=True, slots=True, repr=False)
class ProgramScores:
    """The scores of generated programs.

    Attributes:
        tally: how the generations ended.
        scores: pass@k, each with its interval.
        refused: the k that could not be computed, each with the reason as a sentence.
        warnings: warnings for the user.
        seconds: how long the programs ran, in seconds.
        resumed: how many verdicts were taken from an earlier run.
        provenance: how the result was computed.
        authors: the people who wrote the programs; `None` if a model wrote them.
    """

    tally: JobTally
    scores: Sequence[Score]
    refused: Mapping[int, str]
    warnings: Sequence[str]
    seconds: float
    resumed: int
    provenance: Provenance
    authors: Authors | None = None

    @property
    def metrics(self) -> dict[str, Score]:
        """Return "pass@1" and others, each with `value`, `n`, `interval` and `per_item`."""
        return {score.name: score for score in self.scores}

    @property
    def rate(self) -> float:
        """Return how many programs were judged per second in this run."""
        judged = max(0, self.tally.programs - self.resumed)
        return judged / self.seconds if self.seconds > 0 else 0.0

    def to_dict(self) -> dict[str, Json]:
        """Return the scores as JSON, as `merilo code score --json` prints them."""
        tally = self.tally
        return {
            "problems": len(tally.problems),
            "generations": tally.generations,
            "programs": tally.programs,
            "repeated": tally.repeated,
            "metrics": {score.name: score.to_dict() for score in self.scores},
            "refused": {f"pass@{k}": sentence for k, sentence in self.refused.items()},
            "outcomes": _outcomes(tally.results),
            "exceptions": dict(tally.exceptions.most_common()),
            "rules": dict(tally.rules.most_common()),
            "retries": {"timeouts": tally.timeouts, "timeouts_passed": tally.timeouts_passed},
            **({"annotators": self.authors.content()} if self.authors else {}),
            "warnings": list(self.warnings),
            "resumed": self.resumed,
            "seconds": round(self.seconds, 3),
            "per_problem": [self._problem(problem) for problem in tally.problems],
            "provenance": self.provenance.to_json(),
        }

    def __repr__(self) -> str:
        return "\n".join(f"{score.name} {score.value:.4f} on {score.n} problems" for score in self.scores)

    def _problem(self, tally: ProblemTally) -> dict[str, Json]:
        return {
            "id": tally.problem.id,
            "generations": tally.generations,
            "passed": tally.passed,
            "outcomes": _outcomes(tally.results),
            "exceptions": dict(tally.exceptions.most_common()),
            **{score.name: score.per_item[tally.problem.id] for score in self.scores},
        }


def _outcomes(results: Counter[Outcome]) -> dict[str, Json]:
    return {result.value: count for result, count in results.most_common()}


#: Names of the files in the output folder.
VERDICTS: Final = "verdicts.jsonl"
GENERATIONS: Final = "generations.jsonl"
SCORE: Final = "score.json"
KEPT: Final = (VERDICTS, GENERATIONS, SCORE)


def refuse_places(
    read: list[Path],
    packages: Path | None,
    out: Path | None,
    outputs: Path | None,
    json_file: Path | None = None,
) -> None:
    """Refuse outputs that overwrite a file or cannot be written, and a packages folder that holds gold answers."""
    if Path("-") in read:
        raise UsageError("standard input cannot be used, because the file is read twice; save it as a file")
    job_files = [out / name for name in KEPT] if out else []
    written = [*job_files, *(output for output in (outputs, json_file) if output)]
    for path in written:
        refuse_existing(path, force=True, needed=read)
    if out and not (out / VERDICTS).exists():
        for path in job_files:
            if path.exists():
                raise OutputError(
                    f"exists already, and without a {VERDICTS} beside it cannot be overwritten; choose another folder",
                    file=path,
                )
    # Both options may name the same score file.
    scores = {os.path.realpath(out / SCORE)} & {os.path.realpath(json_file)} if out and json_file else set()
    places = Counter(os.path.realpath(path) for path in written if path.is_file() or not path.exists())
    for path in reversed(written):
        place = os.path.realpath(path)
        if places[place] > 1 + (place in scores):
            raise OutputError(
                "would be written twice, with different results; choose another path", file=path
            )
    for path in written:
        refuse_unwritable(path)
    # The outputs of correct programs reveal as much as the gold answers.
    for file in [*read, *written] if packages and packages.is_dir() else []:
        if Path(os.path.realpath(file)).is_relative_to(os.path.realpath(str(packages))):
            raise UsageError(
                f"'{packages}' contains {file}, which programs must not see; choose another folder",
                field=argument("packages"),
            )


#: The value of the ledger's "answers" if all answers are kept in full.
WHOLE: Final = "whole"

#: A seed that a command line, a JSON file and every Python version read alike.
_SEED: Final = re.compile(r"[!-~]{1,100}")

#: The default k, each used if there are that many generations.
USUAL_KS: Final = (1, 5, 10)

#: Called before the programs run with the number of generations and the number of verdicts that an earlier run left;
#: the returned context receives a function to call with each step.
Watch: TypeAlias = Callable[[int, int], AbstractContextManager[Callable[[Step], None]]]


@contextmanager
def unwatched(_: int, __: int) -> Iterator[Callable[[object], None]]:
    """Show nothing."""
    yield lambda _: None


def _seed_checks(
    problems: Mapping[str, Problem], chosen_seed: str | None, header: dict[str, Json], drawn: dict[str, Json]
) -> None:
    """Give the seed of tests that checks draw to what is asked, or to what is drawn if nobody chose it."""
    if any(isinstance(problem.tests, Check) for problem in problems.values()):
        if chosen_seed is not None and not _SEED.fullmatch(chosen_seed):
            raise UsageError("must be 1 to 100 ASCII characters without spaces", field=argument("judge_seed"))
        (drawn if chosen_seed is None else header)["judge_seed"] = chosen_seed or new_judge_seed()
    elif chosen_seed is not None:
        raise UsageError("no problem has a check(candidate) that draws tests", field=argument("judge_seed"))


def _recorded(options: Mapping[str, Json], jail: Mapping[str, Json], rows: Path, items: Path) -> Provenance:
    """Return the command that gives the same result, and the files that it reads."""
    command = command_line(
        "code score", [rows], {name: value for name, value in options.items() if value is not False}, {}
    )
    return provenance(command, [rows, items], {**options, "jail": {**jail}})


def score_programs(
    completions: str | Path,
    *,
    data: str | Path,
    k: Sequence[int] = (),
    out: str | Path | None = None,
    outputs: str | Path | None = None,
    watch: Watch = unwatched,
    settings: ProgramSettings | None = None,
    **chosen: object,
) -> ProgramScores:
    """Score programs written by a model or by annotators with pass@k, as `merilo code score` does.

    Args:
        completions: JSON Lines with `task_id` (or `id`) and `completion`, several rows per problem.
        data: the problems.
        k: the values of k; by default, those of 1, 5 and 10 for which every problem has enough completions.
        out: a folder for verdicts, generations and the score; an interrupted run resumes from it.
        outputs: a file for the programs' answers, in the form of a submission.
        watch: called with the number of completions and of programs already judged; the context manager that it returns
            receives a function to call with each step.
        settings: the settings of the sandbox.
        **chosen: single settings by name, such as `workers=2`; `merilo.settings.ProgramSettings` declares them, and
            `merilo code score --help` explains them.

    Raises:
        UsageError: a k is below 1, or two arguments do not fit each other.
        InputError: a file cannot be read.
        OutputError: a file cannot be written, or would overwrite another.
        DataError: a problem has no completions and `partial` is not given, or a problem has no expected outputs.
        MissingPartError: no sandbox is installed.
    """
    if any(value < 1 for value in k):
        raise UsageError("takes whole numbers of at least 1", field=argument("k"))
    sandbox = ProgramSettings.of(chosen, settings)
    rows, items = Path(completions), Path(data)
    folder, submission = (None if path is None else Path(path) for path in (out, outputs))
    library = None if sandbox.packages is None else Path(sandbox.packages)
    sandbox = replace(sandbox, packages=library)
    jails = Jails(Limits(wall_seconds=sandbox.timeout, memory_bytes=sandbox.memory << 20), sandbox)
    refuse_places([rows, items], library, folder, submission)
    problems = read_problems(items)
    census = count_completions(rows, problems)
    _refuse_gaps(problems, census, rows, items, partial=sandbox.partial, outputs=submission)
    jail = jails.described()
    header: dict[str, Json] = {
        "completions": census.sha256,
        "data": sha256(items),
        **jail,
    }
    drawn: dict[str, Json] = {}
    (header if submission else drawn)["answers"] = WHOLE if submission else SHORTENED
    _seed_checks(problems, sandbox.judge_seed, header, drawn)
    begun = time.monotonic()
    with open_ledger(folder / VERDICTS if folder else None, header, drawn) as ledger:
        job = Job(problems, rows, census, sandbox.workers)
        if seed := ledger.header.get("judge_seed"):
            job = replace(job, judge_seed=str(seed))
        with watch(census.generations, ledger.resumed) as tell:
            entries = run_job(job, ledger, jails, tell)
        seconds = time.monotonic() - begun
        tally = tally_job(problems, entries, ledger.verdicts)
        options: dict[str, Json] = {
            "data": shown(items), "k": ",".join(map(str, k)) or None, **sandbox.parameters(), "judge_seed": seed,
            "python": named(sandbox.python), "packages": named(library), "out": named(folder),
            "outputs": named(submission),
        }  # fmt: skip
        record = _recorded(options, jail, rows, items)
        asked, jailed = tuple(k), not sandbox.unsafe_no_sandbox
        result = _scores(
            tally, census, ledger, entries, asked=asked, seconds=seconds, record=record, jailed=jailed
        )
        if submission:
            write_outputs(submission, problems, entries, ledger)
        if folder:
            write_generations(folder / GENERATIONS, entries, ledger)
            write_text(folder / SCORE, as_text(result.to_dict()))
    return result


def _refuse_gaps(
    problems: dict[str, Problem],
    census: Census,
    completions: Path,
    data: Path,
    *,
    partial: bool,
    outputs: Path | None,
) -> None:
    """Refuse, before any program runs, input that could not be scored."""
    gaps = unanswered(census.counts)
    if gaps and not partial:
        raise DataError(f"{gaps}; {argument('partial', given=True)} scores the others", file=completions)
    closed = [name for name, problem in problems.items() if problem.is_closed]
    if closed and not outputs:
        raise DataError(
            f"there are no outputs to compare with for {len(closed)} of {len(problems)} problems "
            f"({listed(closed, 5)}); "
            f"{argument('outputs', 'FILE')} runs the programs and writes their answers",
            file=data,
        )
    checked = [name for name, problem in problems.items() if isinstance(problem.tests, Check)]
    if checked and outputs:
        raise UsageError(
            "the problems are tested by check(candidate), which has no outputs", field=argument("outputs")
        )


def _scores(
    tally: JobTally,
    census: Census,
    ledger: Ledger,
    entries: list[Entry],
    *,
    asked: tuple[int, ...],
    seconds: float,
    record: Provenance,
    jailed: bool,
) -> ProgramScores:
    people = None
    if entries[0].annotator is not None:
        people = authors(entries, ledger.verdicts)
    fewest = tally.fewest().generations
    warnings = [] if jailed else ["the programs ran without a sandbox, and could do anything that you can"]
    if census.too_long:
        rows = listed([str(row) for row in census.too_long], 5)
        warnings.append(
            f"completions longer than {LONGEST_COMPLETION} characters count as failed: "
            f"{len(census.too_long)} (row {rows})"
        )
    if gaps := unanswered(census.counts):
        warnings.append(f"{gaps}; they are left out")
    warnings += [
        f"the check of problem {row.problem.id} raised {row.suspect} on every answer; "
        "the check itself may be wrong"
        for row in tally.problems
        if row.suspect
    ]
    closed = any(problem.problem.is_closed for problem in tally.problems)
    if closed:
        warnings.append("some problems have no outputs to compare with, so pass@k is not computed")
    ks = () if closed else asked or tuple(k for k in USUAL_KS if k <= fewest)
    refused = {k: sentence for k in ks if (sentence := tally.refusal(k))}
    scores = [tally.score(k) for k in ks if k not in refused]
    return ProgramScores(
        tally, scores, refused, [*refused.values(), *warnings], seconds, ledger.resumed, record, people
    )


def authors(entries: Sequence[Entry], verdicts: Mapping[str, Verdict]) -> Authors | None:
    """Group a job's programs by the people who wrote them.

    Args:
        entries: the generations.
        verdicts: the verdicts by the programs' keys.

    Returns:
        The people; `None` if the completions name no annotators.
    """
    named = [(entry.annotator, entry) for entry in entries if entry.annotator is not None]
    if not named:
        return None
    items: dict[str, int] = {}
    names: dict[str, int] = {}
    item = np.array([items.setdefault(entry.problem, len(items)) for _, entry in named], np.int32)
    annotator = np.array([names.setdefault(name, len(names)) for name, _ in named], np.int32)
    passed = np.array([_passed(entry, verdicts) for _, entry in named], np.int32)
    votes = Votes(item, annotator, passed, len(items), len(names), 2)
    problems = np.bincount(annotator, minlength=len(names)).tolist()
    solved = np.bincount(annotator, weights=passed, minlength=len(names)).astype(int).tolist()
    people = [Author(name, problems[code], solved[code]) for name, code in names.items()]
    people.sort(key=lambda author: (-author.share, -author.problems, author.annotator))
    value, influence = person_influence(votes, passed.astype(np.float64))
    return Authors(tuple(people), crossed(value, influence).estimate("pass@1", len(items)))


def _passed(entry: Entry, verdicts: Mapping[str, Verdict]) -> bool:
    return entry.key is not None and verdicts[entry.key].outcome is Outcome.PASSED

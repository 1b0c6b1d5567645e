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
from merilo.items import ItemId
from merilo.metrics.metric import Score
from merilo.metrics.pass_at_k import pass_at_k
from merilo.metrics.scoring import mean_score
from merilo.people.influence import person_influence
from merilo.people.votes import Votes
from merilo.records import Ends, Number, Record, Span
from merilo.sandbox.executors import Jails
from merilo.sandbox.job import Progress, Verdict, run_job, write_generations, write_outputs
from merilo.sandbox.ledger import SHORTENED, open_ledger
from merilo.sandbox.problems import LONGEST_COMPLETION, Census, Problem, count_completions, read_problems
from merilo.sandbox.program import Check, Limits, Outcome, new_judge_seed
from merilo.settings import ProgramSettings
from merilo.statistics.crossed import crossed
from merilo.statistics.intervals import exact_interval
from merilo.strict_json import Json, as_text
from merilo.wording import listed, named, shown


class Author(Record):
    """One person who wrote programs.

    Attributes:
        annotator: the name in the file of completions.
        problems: how many problems they wrote a program for.
        solved: how many of these programs passed.
        share: the share of their problems that they solved.
        ci95: its Clopper-Pearson interval.
    """

    annotator: str
    problems: int
    solved: int
    share: Number
    ci95: Ends


@dataclass(frozen=True, slots=True)
class Tally:
    """The verdicts on some generations, and how many ended in which way."""

    verdicts: Sequence[Verdict]

    def __len__(self) -> int:
        return len(self.verdicts)

    @property
    def passed(self) -> int:
        """The number of generations that passed every test."""
        return sum(verdict.passed for verdict in self.verdicts)

    @property
    def outcomes(self) -> dict[str, int]:
        """The number of generations by outcome, the most frequent first."""
        ends = Counter(verdict.execution.outcome.value for verdict in self.verdicts)
        return dict(ends.most_common())

    @property
    def exceptions(self) -> dict[str, int]:
        """The number of generations that raised, by type of exception, the most frequent first."""
        ends = [verdict.execution for verdict in self.verdicts]
        raised = Counter(end.error or "unknown" for end in ends if end.outcome is Outcome.EXCEPTION)
        return dict(raised.most_common())

    @property
    def complaint(self) -> str | None:
        """The exception that the check raised for every generation, if it is the same and not `AssertionError`."""
        (outcome, error), *others = {(each.execution.outcome, each.execution.error) for each in self.verdicts}
        wrong = outcome is Outcome.WRONG_ANSWER and not others and error not in {"", "AssertionError"}
        return error if wrong else None

    def to_json(self) -> dict[str, Json]:
        """Return the counts as JSON."""
        return {"outcomes": {**self.outcomes}, "exceptions": {**self.exceptions}}


@dataclass(frozen=True, slots=True, repr=False)
class ProgramScores:
    """The scores of generated programs.

    Attributes:
        tally: how the generations ended.
        problems: the same for each problem that has generations, by its id.
        scores: pass@k, each with its interval.
        refused: the k that could not be computed, each with the reason as a sentence.
        warnings: warnings for the user.
        seconds: how long the programs ran, in seconds.
        resumed: how many programs were judged in an earlier run.
        provenance: how the result was computed.
        authors: the people who wrote the programs, by share from the highest to the lowest; empty if a model did.
        single_person: the expected share of problems that a single person solves, with the interval over people and
            problems; the same estimate as "single person" of `merilo baseline`.
    """

    tally: Tally
    problems: Mapping[ItemId, Tally]
    scores: Sequence[Score]
    refused: Mapping[int, str]
    warnings: Sequence[str]
    seconds: float
    resumed: int
    provenance: Provenance
    authors: Sequence[Author] = ()
    single_person: Estimate | None = None

    @property
    def metrics(self) -> dict[str, Score]:
        """Return "pass@1" and others, each with `value`, `n`, `interval` and `per_item`."""
        return {score.name: score for score in self.scores}

    @property
    def rules(self) -> dict[str, int]:
        """Return the number of generations by rule of extraction, the most frequent first."""
        return dict(Counter(verdict.rule for verdict in self.tally.verdicts).most_common())

    @property
    def attempts(self) -> dict[str, tuple[Outcome, int]]:
        """Return how each distinct program ended, and how often it was judged."""
        ends = [verdict.execution for verdict in self.tally.verdicts]
        return {end.id: (end.outcome, end.attempts) for end in ends if end.id}

    @property
    def programs(self) -> int:
        """Return the number of distinct programs."""
        return len(self.attempts)

    @property
    def repeated(self) -> int:
        """Return the number of generations whose program equals an earlier one; each still counts as a sample."""
        return sum(bool(verdict.execution.id) for verdict in self.tally.verdicts) - self.programs

    @property
    def again(self) -> list[Outcome]:
        """Return how the programs ended that were run again after a time-out, with fewer workers running."""
        return [outcome for outcome, attempts in self.attempts.values() if attempts > 1]

    @property
    def rate(self) -> float:
        """Return how many programs were judged per second in this run."""
        return max(0, self.programs - self.resumed) / self.seconds if self.seconds > 0 else 0.0

    def to_dict(self) -> dict[str, Json]:
        """Return the scores as JSON, as `merilo code score --json` prints them."""
        people: dict[str, Json] = {}
        if self.single_person is not None:
            people = {
                "count": len(self.authors),
                "single_person": self.single_person.to_json(),
                "people": [author.to_json() for author in self.authors],
            }
        return {
            "problems": len(self.problems),
            "generations": len(self.tally),
            "programs": self.programs,
            "repeated": self.repeated,
            "metrics": {score.name: score.to_dict() for score in self.scores},
            "refused": {f"pass@{k}": sentence for k, sentence in self.refused.items()},
            **self.tally.to_json(),
            "rules": {**self.rules},
            "retries": {"timeouts": len(self.again), "timeouts_passed": self.again.count(Outcome.PASSED)},
            **({"annotators": people} if people else {}),
            "warnings": list(self.warnings),
            "resumed": self.resumed,
            "seconds": round(self.seconds, 3),
            "per_problem": [
                {
                    "id": name,
                    "generations": len(tally),
                    "passed": tally.passed,
                    **tally.to_json(),
                    **{score.name: score.per_item[name] for score in self.scores},
                }
                for name, tally in self.problems.items()
            ],
            "provenance": self.provenance.to_json(),
        }

    def __repr__(self) -> str:
        return "\n".join(f"{score.name} {score.value:.4f} on {score.n} problems" for score in self.scores)


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
Watch: TypeAlias = Callable[[int, int], AbstractContextManager[Progress]]


@contextmanager
def unwatched(_: int, __: int) -> Iterator[Callable[..., None]]:
    """Show nothing."""
    yield lambda *_: None


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
    header: dict[str, Json] = {"completions": census.sha256, "data": sha256(items), **jail}
    drawn: dict[str, Json] = {}
    (header if submission else drawn)["answers"] = WHOLE if submission else SHORTENED
    _seed_checks(problems, sandbox.judge_seed, header, drawn)
    begun = time.monotonic()
    with open_ledger(folder / VERDICTS if folder else None, header, drawn) as ledger:
        with watch(census.generations, ledger.resumed) as tell:
            verdicts = run_job(problems, census, ledger, jails, workers=sandbox.workers, tell=tell)
        options: dict[str, Json] = {
            "data": shown(items), "k": ",".join(map(str, k)) or None, **sandbox.parameters(),
            "judge_seed": ledger.header.get("judge_seed"), "python": named(sandbox.python),
            "packages": named(library), "out": named(folder), "outputs": named(submission),
        }  # fmt: skip
        result = _scores(
            problems,
            census,
            verdicts,
            asked=tuple(k),
            jailed=not sandbox.unsafe_no_sandbox,
            seconds=time.monotonic() - begun,
            resumed=ledger.resumed,
            record=_recorded(options, jail, rows, items),
        )
        if submission:
            write_outputs(submission, problems, verdicts, ledger)
        if folder:
            write_generations(folder / GENERATIONS, verdicts)
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
    gaps = _gaps(census)
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


def _gaps(census: Census) -> str | None:
    """Return a message about problems without completions; `None` if every problem has one."""
    names = [name for name, count in census.counts.items() if not count]
    few = f"{len(names)} of {len(census.counts)} problems ({listed(names, 5)})"
    return f"there are no completions for {few}" if names else None


def _scores(
    problems: Mapping[str, Problem],
    census: Census,
    verdicts: Sequence[Verdict],
    *,
    asked: tuple[int, ...],
    jailed: bool,
    seconds: float,
    resumed: int,
    record: Provenance,
) -> ProgramScores:
    """Compute pass@k for each k for which every problem has enough generations."""
    by_problem: dict[ItemId, list[Verdict]] = {problem.id: [] for problem in problems.values()}
    for verdict in verdicts:
        by_problem[verdict.problem].append(verdict)
    tallies = {name: Tally(some) for name, some in by_problem.items() if some}
    fewest, least = min((len(tally), order) for order, tally in enumerate(tallies.values()))
    closed = any(problems[str(name)].is_closed for name in tallies)
    ks = () if closed else asked or tuple(k for k in USUAL_KS if k <= fewest)
    refused = {
        k: f"pass@{k} needs {k} generations of every problem, but {sum(len(each) < k for each in tallies.values())} of "
        f"{len(tallies)} problems have fewer (problem {list(tallies)[least]}: {fewest})"
        for k in ks
        if k > fewest
    }
    shares = {
        k: [pass_at_k(len(tally), tally.passed, k) for tally in tallies.values()]
        for k in ks
        if k not in refused
    }
    people, single = authors(verdicts) if verdicts[0].annotator is not None else ((), None)
    return ProgramScores(
        Tally(verdicts),
        tallies,
        [mean_score(f"pass@{k}", values, [*tallies]) for k, values in shares.items()],
        refused,
        [*refused.values(), *_warnings(census, tallies, jailed=jailed, closed=closed)],
        seconds,
        resumed,
        record,
        people,
        single,
    )


def _warnings(
    census: Census, tallies: Mapping[ItemId, Tally], *, jailed: bool, closed: bool
) -> Iterator[str]:
    if not jailed:
        yield "the programs ran without a sandbox, and could do anything that you can"
    if census.too_long:
        rows = listed([str(row) for row in census.too_long], 5)
        yield (
            f"completions longer than {LONGEST_COMPLETION} characters count as failed: "
            f"{len(census.too_long)} (row {rows})"
        )
    if gaps := _gaps(census):
        yield f"{gaps}; they are left out"
    for name, tally in tallies.items():
        if complaint := tally.complaint:
            yield f"the check of problem {name} raised {complaint} on every answer; the check itself may be wrong"
    if closed:
        yield "some problems have no outputs to compare with, so pass@k is not computed"


def authors(verdicts: Sequence[Verdict]) -> tuple[tuple[Author, ...], Estimate]:
    """Return the people who wrote a job's programs, and the estimate of a single person; every verdict names one."""
    items: dict[ItemId, int] = {}
    names: dict[str, int] = {}
    item = np.array([items.setdefault(each.problem, len(items)) for each in verdicts], np.int32)
    annotator = np.array([names.setdefault(str(each.annotator), len(names)) for each in verdicts], np.int32)
    passed = np.array([each.passed for each in verdicts], np.int32)
    votes = Votes(item, annotator, passed, len(items), len(names), 2)
    problems = np.bincount(annotator, minlength=len(names)).tolist()
    solved = np.bincount(annotator, weights=passed, minlength=len(names)).astype(int).tolist()
    people = [
        Author(annotator=name, problems=of, solved=n, share=n / of, ci95=Span.of(exact_interval(n, of)))
        for name, of, n in zip(names, problems, solved, strict=True)
    ]
    people.sort(key=lambda author: (-(author.share or 0.0), -author.problems, author.annotator))
    value, influence = person_influence(votes, passed.astype(np.float64))
    return tuple(people), crossed(value, influence).estimate("pass@1", len(items))

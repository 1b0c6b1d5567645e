"""The score of generated programs and its JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from merilo.baselines.provenance import Provenance
from merilo.metrics.score import Score
from merilo.sandbox.results import JobTally, ProblemTally
from merilo.sandbox.verdicts import Ending
from merilo.strict_json import Json

if TYPE_CHECKING:
    from merilo.baselines.program_authors import Authors


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
        return {one.name: one for one in self.scores}

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
            "exceptions": _counted(tally.exceptions),
            "rules": _counted(tally.rules),
            "retries": {
                "timeouts": tally.retries.timeouts,
                "timeouts_passed": tally.retries.timeouts_passed,
                "failures": tally.retries.failures,
                "failures_passed": tally.retries.failures_passed,
            },
            **({"annotators": self.authors.content()} if self.authors else {}),
            "warnings": list(self.warnings),
            "resumed": self.resumed,
            "seconds": round(self.seconds, 3),
            "per_problem": [self._problem(one) for one in tally.problems],
            "provenance": self.provenance.to_json(),
        }

    def __repr__(self) -> str:
        return "\n".join(f"{one.name} {one.value:.4f} on {one.n} problems" for one in self.scores)

    def _problem(self, tally: ProblemTally) -> dict[str, Json]:
        return {
            "id": tally.problem.id,
            "generations": tally.generations,
            "passed": tally.passed,
            "outcomes": _outcomes(tally.results),
            "exceptions": _counted(tally.exceptions),
            **{score.name: score.per_item[tally.problem.id] for score in self.scores},
        }


def _outcomes(results: Counter[Ending]) -> dict[str, Json]:
    return {result.value: count for result, count in results.most_common()}


def _counted(counter: Counter[str]) -> dict[str, Json]:
    return dict(counter.most_common())

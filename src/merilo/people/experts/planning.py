"""Planning an expert study: hours, cost and the expected number of answers per item, by the guide's estimates."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from merilo.errors import UsageError, argument

#: The guide's speed: 30 questions an hour, including reading, context, pictures and the decision.
QUESTIONS_AN_HOUR = 30.0


@dataclass(frozen=True, slots=True)
class ExpertPlan:
    """The plan of one domain of an expert study.

    Attributes:
        questions: questions asked.
        experts: N, the experts of the domain.
        own: questions that an expert wrote and skips, on average.
        answered: questions that an expert answers, on average.
        hours: hours of work of one expert. Own questions are counted too: an expert reads them before skipping them.
        hours_without_own: hours of one expert to whom own questions are not shown.
        total_hours: hours of work of all experts.
        answers_an_item: N - k on average: answers that an item keeps when its authors skip it.
        usd: the cost; `None` without a rate.
    """

    questions: int
    experts: int
    own: float
    answered: float
    hours: float
    hours_without_own: float
    total_hours: float
    answers_an_item: float
    usd: float | None


def plan(
    questions: int,
    experts: int,
    *,
    own: float | None = None,
    questions_an_hour: float = QUESTIONS_AN_HOUR,
    usd_an_hour: float | None = None,
) -> ExpertPlan:
    """Plan one domain.

    Args:
        questions: questions asked (the guide: 100 a domain).
        experts: N, the experts of the domain.
        own: how many of the questions an expert wrote, on average; by default, an equal share of all; 0 for experts who have
            not seen the dataset.
        questions_an_hour: the speed.
        usd_an_hour: the pay in dollars per hour.

    Returns:
        The plan.

    Raises:
        UsageError: a value is out of range.

    Example:
        Five experts and a hundred questions, of which each expert wrote a fifth:

        >>> made = plan(100, 5)
        >>> made.answered, round(made.hours, 1), round(made.hours_without_own, 1), made.answers_an_item
        (80.0, 3.3, 2.7, 4.0)
    """
    if questions < 1 or experts < 1 or not 0 < questions_an_hour < inf:
        raise UsageError("a plan needs at least one question, one expert and a speed above 0")
    if usd_an_hour is not None and not 0 <= usd_an_hour < inf:
        raise UsageError(f"{argument('rate')} must be 0 or more dollars an hour, not {usd_an_hour:g}")
    own = questions / experts if own is None else own
    if not 0 <= own <= questions:
        raise UsageError(f"an expert cannot have written {own:g} of {questions} questions")
    answered = questions - own
    hours = questions / questions_an_hour
    if not hours * experts < inf:
        raise UsageError(f"{questions_an_hour:g} questions an hour is too slow: the total time is infinite")
    return ExpertPlan(
        questions=questions,
        experts=experts,
        own=own,
        answered=answered,
        hours=hours,
        hours_without_own=answered / questions_an_hour,
        total_hours=hours * experts,
        answers_an_item=experts * answered / questions,
        usd=None if usd_an_hour is None else hours * experts * usd_an_hour,
    )

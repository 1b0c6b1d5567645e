"""Whether the answers that a study collects will give its metric: said before people are paid."""

from __future__ import annotations

from collections.abc import Sequence

from merilo.datasets.declaration import Dataset
from merilo.items import Item
from merilo.metrics.scoring import RATED, gold_label, has_gold, score
from merilo.studies.plan_types import Study


def metric_gaps(plan: Study, declared: Dataset, items: Sequence[Item]) -> list[str]:
    """Return a sentence for each reason why `study baseline` will lack the main metric, or some items of it.

    Args:
        plan: the plan.
        declared: the dataset.
        items: the items that people answer, with their gold answers.
    """
    metric = plan.baseline.metric or declared.metrics[0]
    if metric in RATED:
        return [
            f"'merilo study baseline' will compute no {metric}, which takes three questions about each rewritten sentence: "
            "whether the meaning is kept, whether it is fluent, whether it is toxic (merilo recipe show rudetox)"
        ]
    solved = [item for item in items if has_gold(item)]
    if not solved:
        return [
            f"the items have no gold answers: 'merilo study baseline' will compute the agreement and the cost, but no {metric}"
        ]
    gaps = []
    if missing := len(items) - len(solved):
        gaps.append(f"{missing} of {len(items)} items have no gold answer and will not count in {metric}")
    if metric == "grade_norm":
        right = {item.id: gold_label(item) for item in solved}
        if reason := score(declared, solved, right).missing.get(metric):
            gaps.append(
                f"'merilo study baseline' will compute no {metric}, even of right answers only: {reason}"
            )
    return gaps

"""Scores of an exported task whose answers are generated.

The same extraction and the same metrics as those of `merilo run`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, cast

from merilo.datasets import dataset
from merilo.errors import InputError
from merilo.items import read_split
from merilo.metrics.answers import Given
from merilo.metrics.scoring import Scores, score
from merilo.models.answer_extraction import ExtractedAnswer, extract
from merilo.models.asking import Finish, ModelReply, Request
from merilo.strict_json import read_json

#: The files of a task's folder.
TASK_FILE: Final = "task.json"
ITEMS_FILE: Final = "items.json"

#: Metrics that are means over items.
_MEANS: Final = ("acc", "em", "f1")


class ExportedTask:
    """A task in its folder.

    Args:
        folder: the folder that `merilo datasets export` wrote.

    Raises:
        InputError: the folder is not that of an exported task.
    """

    def __init__(self, folder: Path) -> None:
        content = read_json(folder / TASK_FILE)
        if not isinstance(content, dict):
            raise InputError("is not the description of an exported task", file=folder / TASK_FILE)
        name = str(content["dataset"])
        self._declared = dataset(str(folder / name) if name.endswith(".yaml") else name)
        self._items = read_split(folder / ITEMS_FILE).items
        self._by_id = {str(item.id): item for item in self._items}
        self._metrics = [str(metric) for metric in cast("list[str]", content["metrics"])]
        self._scores = lru_cache(maxsize=2)(self._score)

    def answer(self, item: str, text: str, finish: Finish = "stop") -> ExtractedAnswer:
        """Find the answer in a generated text.

        Args:
            item: the item's id as text.
            text: the text.
            finish: why the model stopped.
        """
        asked = self._by_id[item]
        request = Request(self._declared.name, asked.id, 1, (), "")
        return extract(self._declared, asked, request, ModelReply(text=text, finish=finish))

    def process_results(self, document: Mapping[str, str], results: Sequence[str]) -> dict[str, object]:
        """Return the values of an item, as lm-eval asks for them.

        Metrics that are means over items have a number; the others have the item and its answer, of which
        `aggregation` makes a value.
        """
        item = document["id"]
        found = self.answer(item, results[0])
        pair = (item, json.dumps(self.given(found), ensure_ascii=False))
        alone = self._scores((pair,)).main if self._metrics else {}
        values = {name: alone[name].value if name in _MEANS else pair for name in self._metrics}
        return {"answered": float(found.outcome == "answered"), **values}

    def given(self, found: ExtractedAnswer) -> Given:
        """Return an answer as the scorer takes it: one that cannot be read is empty, which is wrong by every metric."""
        if found.answer is None:
            criteria = self._declared.answer.criteria
            return dict.fromkeys(criteria, "") if criteria else ""
        return cast("Given", found.answer)

    def aggregation(self, metric: str) -> Callable[[Sequence[object]], float]:
        """Return the function that makes a metric's value of the values of all items.

        They are numbers, or pairs of an item's id and its answer as JSON.
        """

        def aggregated(values: Sequence[object]) -> float:
            if metric in _MEANS:
                return sum(cast("Sequence[float]", values)) / len(values)
            return self.value(metric, cast("Sequence[tuple[str, str]]", values))

        return aggregated

    def value(self, metric: str, pairs: Sequence[tuple[str, str]]) -> float:
        """Return a metric's value over items; not a number if it cannot be computed.

        Args:
            metric: the metric's name.
            pairs: the id of each item with its answer as JSON.
        """
        found = self._scores(tuple((str(item), str(answer)) for item, answer in pairs)).all()
        return found[metric].value if metric in found else float("nan")

    def _score(self, pairs: tuple[tuple[str, str], ...]) -> Scores:
        answers = {self._by_id[item].id: cast("Given", json.loads(answer)) for item, answer in pairs}
        return score(self._declared, self._items, answers)

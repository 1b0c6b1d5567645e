"""Scores of a recipe's answers against the gold answers, computed as for any other answers to a dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import polars as pl

from merilo.baselines.dataset_items import item_points, metas, texts
from merilo.baselines.recipes.recipe import GOLD, Recipe, ScoreStep
from merilo.datasets import Dataset
from merilo.datasets.declaration import Answer, undeclared
from merilo.errors import DataError, UsageError, argument
from merilo.items import Item, ItemId
from merilo.metrics.answers import Given
from merilo.metrics.detox import Rater
from merilo.metrics.score import Score
from merilo.metrics.scoring import NO_RATER, RATED, score
from merilo.people.gold import read_gold
from merilo.people.gold_file import records
from merilo.responses import INPUT_MARK
from merilo.strict_json import Json
from merilo.wording import listed

#: The column of item numbers in a recipe's table.
ITEM: Final = "\x1fitem"


@dataclass(frozen=True, slots=True)
class RecipeGold:
    """The gold answers of a recipe's items.

    Attributes:
        columns: one column per criterion, named by `gold_column`, and one row per item.
        meta: mapping from item number to the `meta` of the file.
    """

    columns: tuple[pl.Series, ...] = ()
    meta: Mapping[int, Mapping[str, Json]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scored:
    """The result of a scoring step of a recipe.

    Attributes:
        scores: mapping from name to score.
        missing: the scores that could not be computed, one sentence each.
    """

    scores: Mapping[str, Score] = field(default_factory=dict)
    missing: tuple[str, ...] = ()


def gold_column(criterion: str) -> str:
    """Return the column of a criterion's gold answers in a recipe's table."""
    return criterion if criterion == GOLD else f"{GOLD}.{criterion}"


def read_recipe_gold(recipe: Recipe, table: pl.DataFrame, path: Path, encoding: str | None) -> RecipeGold:
    """Read the gold answers that a recipe's scores need.

    Args:
        recipe: the recipe.
        table: one row per item: `ITEM`, the item's fields and the questions' answers.
        path: the file: a table, or the dataset's split file.
        encoding: its encoding, if it is not UTF-8 and has no byte order mark.

    Raises:
        UsageError: the file lacks columns of gold answers; the message names all missing columns.
        InputError: the file cannot be read.
        DataError: the file has two different gold answers for an item, or lacks some criteria for some items.
    """
    wanted = list(dict.fromkeys(name for step in recipe.scores for name in recipe.gold_columns(step)))
    marked = {name: f"{INPUT_MARK}{name}" for name in recipe.item if name in {"item", "row"}}
    items = table.select(pl.col(ITEM).alias("\x1fnumber"), *recipe.item).rename(marked)
    items = items.rename({"\x1fnumber": "item"})
    called = _columns(wanted, records(path, encoding).columns[1:], path)
    declared = recipe.declared
    labels = {text for name in recipe.questions for text in table[name].drop_nulls().unique()}
    labels |= set(declared.answer.labels) if declared else set()
    columns, meta = [], {}
    for criterion, column in called.items():
        found = read_gold(path, items, column=column, labels=sorted(labels), encoding=encoding)
        known = found.answers.select("item", "gold")
        joined = items.select("item").join(known, on="item", how="left", maintain_order="left")
        columns.append(joined["gold"].alias(gold_column(criterion)))
        meta = metas(found)
    if declared and declared.answer.criteria:
        _refuse_gaps(columns, path)
    return RecipeGold(tuple(columns), meta)


def _columns(wanted: Sequence[str], there: Sequence[str], path: Path) -> dict[str, str | None]:
    """Map each criterion to the file's column; `None` if the reader of gold files finds the column itself."""
    called = {
        name: next((one for one in (name, f"outputs.{name}", f"meta.{name}") if one in there), None)
        for name in wanted
    }
    missing = [name for name, column in called.items() if column is None and name != GOLD]
    if missing:
        columns = "column" if len(missing) == 1 else "columns"
        names = ", ".join(f"'{name}'" for name in missing)
        raise UsageError(
            f"there is no {columns} {names} of gold answers (choose from: {listed(there)})", file=path
        )
    return called


def _refuse_gaps(columns: Sequence[pl.Series], path: Path) -> None:
    """Raise an error if items have gold answers for only some of the criteria."""
    golds = pl.DataFrame(list(columns))
    some = golds.filter(~pl.all_horizontal(pl.all().is_null()))
    gaps = {name.removeprefix(f"{GOLD}."): some[name].null_count() for name in some.columns}
    counts = [f"'{name}' ({n} of {some.height} items)" for name, n in gaps.items() if n]
    if counts:
        raise DataError(f"gold answers are missing for {', '.join(counts)}", file=path)


@dataclass(frozen=True, slots=True)
class RecipeScorer:
    """Scores the answers to a recipe's questions.

    Attributes:
        recipe: the recipe.
        gold: the gold answers; only columns present in the scored table are used.
        rater: the model that rates sentences for the metric J.
        seed: random seed for the bootstrap resamples of the intervals.
    """

    recipe: Recipe
    gold: RecipeGold
    rater: Rater | None = None
    seed: int = 0

    def step(self, step: ScoreStep, table: pl.DataFrame) -> Scored:
        """Run one scoring step of the recipe.

        Args:
            step: the step.
            table: the items to score, one row per item.

        Raises:
            UsageError: the step does not fit the recipe's dataset.
        """
        recipe, declared = self.recipe, self.recipe.declared
        rated = bool(set(declared.metrics) & set(RATED)) if declared else step.metric == "j"
        if rated != bool(step.source):
            raise UsageError(
                f"recipe {recipe.name}: datasets scored by J need 'source' and 'rewritten', and "
                "other datasets do not allow them"
            )
        if declared and declared.answer.kind == "program":
            raise UsageError(
                f"recipe {recipe.name}: programs of {declared.name} are scored by 'merilo code score'"
            )
        if rated:
            return self._rewritten(step, table)
        asked, criteria = recipe.asked(step), recipe.gold_columns(step)
        if gold_column(criteria[0]) not in table.columns:
            what = step.metric or ", ".join(declared.metrics if declared else ())
            return Scored({}, (f"{what} of {', '.join(asked)} needs gold answers ({argument('gold')})",))
        if declared and declared.answer.criteria:
            return self._by_criteria(declared, asked, table)
        parts = [
            self._closed(step.metric, question, criterion, table)
            for question in asked
            for criterion in criteria
        ]
        return Scored(
            {name: one for part in parts for name, one in part.scores.items()},
            tuple(sentence for part in parts for sentence in part.missing),
        )

    def points(self, question: str, table: pl.DataFrame) -> Mapping[int, float]:
        """Return the points of each item's answer to a question; see `dataset_items.item_points`."""
        return item_points(*self._sheet("acc", question, GOLD, table))

    def _rewritten(self, step: ScoreStep, table: pl.DataFrame) -> Scored:
        """Compute J and its parts; the toxic sentence is the item, and the rewritten sentence is the answer."""
        pairs = table.select(ITEM, str(step.source), str(step.rewritten)).drop_nulls()
        kept = f"{pairs.height} {'kept ' if step.kept else ''}{'pair' if pairs.height == 1 else 'pairs'}"
        if self.rater is None:
            return Scored({}, (f"J of the {kept} {NO_RATER}",))
        if not pairs.height:
            return Scored({}, ("J is not defined, because no pair was kept",))
        declared = self.recipe.declared or Dataset(
            name=self.recipe.name, title=self.recipe.name, metrics=RATED, answer=Answer(kind="text")
        )
        items = [Item(number, "", toxic) for number, toxic, _ in pairs.iter_rows()]
        answers = {number: text for number, _, text in pairs.iter_rows()}
        return Scored(score(declared, items, answers, rater=self.rater, seed=self.seed).all())

    def _by_criteria(self, declared: Dataset, asked: Sequence[str], table: pl.DataFrame) -> Scored:
        """Score by every criterion; one label answers all criteria.

        Each pair of item and question is an item of the dataset.
        """
        criteria = declared.answer.criteria
        inputs = texts(table, self.recipe.item, number=ITEM)
        items: list[Item] = []
        answers: dict[ItemId, Given] = {}
        for question in asked:
            known = table.select(ITEM, question, *map(gold_column, criteria)).drop_nulls()
            for number, label, *right in known.iter_rows():
                key = f"{number} {question}"
                meta = {**self.gold.meta.get(number, {}), "question": question}
                outputs: dict[str, Json] = dict(zip(criteria, right, strict=True))
                items.append(Item(key, "", inputs[number], outputs, meta))
                answers[key] = dict.fromkeys(criteria, label)
        return Scored(score(declared, items, answers, seed=self.seed).all())

    def _closed(self, metric: str | None, question: str, criterion: str, table: pl.DataFrame) -> Scored:
        sheet = self._sheet(metric, question, criterion, table)
        found = score(*sheet, seed=self.seed)
        scores = {}
        for name, one in found.all().items():
            of = name if criterion == GOLD else criterion if len(found.all()) == 1 else f"{criterion}.{name}"
            scores[f"{question}.{of}"] = replace(one, name=f"{question}.{of}")
        return Scored(scores, tuple(f"{question}.{name}: {why}" for name, why in found.missing.items()))

    def _sheet(
        self, metric: str | None, question: str, criterion: str, table: pl.DataFrame
    ) -> tuple[Dataset, list[Item], dict[ItemId, Given]]:
        """Return the declaration, items and answers for one question and one column of gold answers."""
        known = table.drop_nulls([question, gold_column(criterion)])
        given, right = known[question].to_list(), known[gold_column(criterion)].to_list()
        inputs = texts(known, self.recipe.item, number=ITEM)
        numbers = known[ITEM].to_list()
        items = [
            Item(number, "", inputs[number], one, self.gold.meta.get(number, {}))
            for number, one in zip(numbers, right, strict=True)
        ]
        by = self.recipe.declared or undeclared(metric or "acc", name=self.recipe.name)
        return by, items, dict(zip(numbers, given, strict=True))

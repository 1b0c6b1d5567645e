"""Running a recipe: a baseline for every question, then the items kept, the scores and the comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from merilo.baselines.expert_comparison import compare
from merilo.baselines.pipeline import Baseline
from merilo.baselines.recipes.question_answers import Answered, read_answers
from merilo.baselines.recipes.recipe import GOLD, KEPT, Recipe
from merilo.baselines.recipes.scores import ITEM, RecipeGold, RecipeScorer, read_recipe_gold
from merilo.errors import DataError, UsageError, argument
from merilo.metrics.detox import Rater
from merilo.metrics.score import Score
from merilo.settings import Repeats
from merilo.statistics.paired_tests import Difference
from merilo.wording import listed

_ALIKE = "\x1falike"


@dataclass(frozen=True, slots=True)
class RecipeResult:
    """The result of a recipe.

    Attributes:
        recipe: the recipe.
        questions: mapping from question to its baseline.
        accepted: mapping from question to the labels that accept an item, in the spelling of the answers.
        table: one row per item: its fields, every question's answer (null if there is none), the gold answers if they are
            known, and `kept` if the recipe filters items: true, false, or null if a question has no answer and no
            question rejects the item.
        scores: mapping from name to score: `correct.virtue`, `with_history.acc`, `j`.
        comparison: the difference of the two questions that the recipe compares (first minus second) on the items with an
            answer to both; `None` without gold.
        agreement: on how many items the two compared questions have the same answer, and the number of items compared;
            `None` if the recipe compares nothing.
        left_undone: the results that could not be computed, one sentence each.
    """

    recipe: Recipe
    questions: Mapping[str, Baseline]
    accepted: Mapping[str, tuple[str, ...]]
    table: pl.DataFrame
    scores: Mapping[str, Score]
    comparison: Difference | None
    agreement: tuple[int, int] | None
    left_undone: tuple[str, ...]


def run_recipe(
    recipe: Recipe,
    exports: Mapping[str, Sequence[Path]],
    *,
    gold: Path | None = None,
    rater: Rater | None = None,
    encoding: str | None = None,
    repeats: Repeats,
    seed: int = 0,
) -> RecipeResult:
    """Run a recipe.

    Args:
        recipe: the recipe.
        exports: mapping from question to the files of its answers.
        gold: gold answers, joined on the item's fields: a table, or the dataset's split file.
        rater: the model that rates sentences for the metric J.
        encoding: the files' encoding, if it is not UTF-8 and has no byte order mark.
        repeats: what happens to an annotator's second, different answer to an item.
        seed: random seed for the bootstrap resamples of the intervals.

    Returns:
        The result; `left_undone` lists what could not be computed without gold or models.

    Raises:
        UsageError: a question has no files, files are given for an unknown question, or an export lacks a field.
        InputError: a file cannot be read.
        DataError: the questions are about different items, an accepted answer never occurs, or gold answers are missing.
    """
    _require_files(recipe, exports)
    answered = read_answers(recipe, exports, encoding=encoding, repeats=repeats)
    accepted = {name: one.accepted for name, one in answered.items()}
    table = _join(recipe, answered).with_row_index(ITEM, offset=1)
    if recipe.keep:
        table = table.with_columns(_kept(recipe, accepted).alias(KEPT))
    known = read_recipe_gold(recipe, table, gold, encoding) if gold else RecipeGold()
    table = table.with_columns(known.columns)
    scorer = RecipeScorer(recipe, known, rater, seed)
    scores: dict[str, Score] = {}
    left_undone: list[str] = []
    for step in recipe.scores:
        scored = table.filter(pl.col(KEPT).fill_null(value=False)) if step.kept else table
        found = scorer.step(step, scored)
        scores |= found.scores
        left_undone += found.missing
    comparison = _compared(scorer, table)
    if recipe.compare and comparison is None:
        left_undone.append(
            f"without gold answers ({argument('gold')}) only the agreement of the two questions is computed"
        )
    return RecipeResult(
        recipe,
        {name: one.made for name, one in answered.items()},
        accepted,
        table.drop(ITEM),
        scores,
        comparison,
        _agreement(recipe, table),
        tuple(left_undone),
    )


def _require_files(recipe: Recipe, exports: Mapping[str, Sequence[Path]]) -> None:
    strange = sorted(exports.keys() - recipe.questions.keys())
    missing = [name for name in recipe.questions if not exports.get(name)]
    there = listed(list(recipe.questions))
    if strange:
        raise UsageError(f"recipe {recipe.name} has no question '{strange[0]}' (choose from: {there})")
    if missing:
        raise UsageError(
            f"question '{missing[0]}' has no files: give {argument('files', f'{missing[0]}=FILE')} (questions: {there})"
        )


def _join(recipe: Recipe, answers: Mapping[str, Answered]) -> pl.DataFrame:
    """Join every question's answers, one row per item; items come from the questions that show all of their fields."""
    whole = [
        answers[name].table.select(recipe.item)
        for name in recipe.questions
        if set(recipe.item) <= set(recipe.shown(name))
    ]
    table = pl.concat(whole).unique(maintain_order=True)
    for name, own in answers.items():
        shown = list(recipe.shown(name))
        if not (table.join(own.table, on=shown, how="semi", nulls_equal=True).height or own.alike.height):
            raise DataError(
                f"question '{name}' matches none of the items: its {', '.join(shown)} differ from theirs"
            )
        table = table.join(own.table, on=shown, how="left", nulls_equal=True, maintain_order="left")
        if own.alike.height:
            table = _with_alike(table, own.alike, name, shown)
    return table


def _with_alike(table: pl.DataFrame, alike: pl.DataFrame, name: str, shown: Sequence[str]) -> pl.DataFrame:
    """Add the answers to items that were shown alike; the other fields of an item tell which is which."""
    fields = [one for one in alike.columns if one != name]
    if alike.join(table, on=fields, how="anti", nulls_equal=True).height:
        raise DataError(
            f"two items of question '{name}' have the same {', '.join(shown)} and different answers, and the other questions "
            f"have no item with their {listed([one for one in fields if one not in shown])}: add distinguishing fields to the "
            "question's 'shows'"
        )
    alike = alike.rename({name: _ALIKE})
    joined = table.join(alike, on=fields, how="left", nulls_equal=True, maintain_order="left")
    return joined.with_columns(pl.coalesce(name, _ALIKE).alias(name)).drop(_ALIKE)


def _kept(recipe: Recipe, accepted: Mapping[str, tuple[str, ...]]) -> pl.Expr:
    """Return true if all questions accept, false if one rejects, null if one has no answer and none rejects."""
    return pl.all_horizontal(pl.col(name).is_in(accepted[name]) for name in recipe.keep)


def _compared(scorer: RecipeScorer, table: pl.DataFrame) -> Difference | None:
    questions = scorer.recipe.compare
    if not questions or GOLD not in table.columns:
        return None
    return compare(*(scorer.points(name, table) for name in reversed(questions)))


def _agreement(recipe: Recipe, table: pl.DataFrame) -> tuple[int, int] | None:
    if not recipe.compare:
        return None
    one, two = recipe.compare
    both = table.select(one, two).drop_nulls()
    return int((both[one] == both[two]).sum()), both.height

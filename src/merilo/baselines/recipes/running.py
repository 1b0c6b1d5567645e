"""Following a recipe: a baseline for every question, then the items kept, the scores and the comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from merilo.baselines.expert_comparison import compare
from merilo.baselines.pipeline import Baseline
from merilo.baselines.recipes.answers import Answered, read_answers
from merilo.baselines.recipes.declaration import GOLD, KEPT, Recipe
from merilo.baselines.recipes.scores import ITEM, RecipeGold, RecipeScorer, read_recipe_gold
from merilo.errors import DataError, UsageError, argument
from merilo.files import listed
from merilo.metrics.detox import Rater
from merilo.metrics.score import Score
from merilo.people.duplicates import Repeats
from merilo.statistics.comparison import Difference


@dataclass(frozen=True, slots=True)
class RecipeResult:
    """What came of a recipe.

    Attributes:
        recipe: the recipe.
        questions: question -> its baseline.
        accepted: question -> the labels that accept an item, as the answers spell them.
        table: a row an item: its fields, every question's answer (null where there is none), the right answers if they are
            known, and `kept` where the recipe keeps items: true, false, or null where a question has no answer and none
            refuses.
        scores: name -> score: `correct.virtue`, `with_history.acc`, `j`.
        comparison: the first of the two questions that the recipe compares less the second, on the items that both decided;
            `None` without gold.
        agreement: on how many items those two gave the same answer, and of how many; `None` where nothing is compared.
        left_undone: what the recipe asks for and could not be had, a sentence each.
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
    repeats: Repeats = "refuse",
    seed: int = 0,
) -> RecipeResult:
    """Follow a recipe.

    Args:
        recipe: the recipe.
        exports: question -> the files of its answers.
        gold: right answers, joined on the item's fields: a table, or the dataset's own split file.
        rater: rates sentences for J.
        encoding: the files' encoding, where it is neither UTF-8 nor marked.
        repeats: what becomes of a person's second, different answer to an item.
        seed: of the intervals' resampling.

    Returns:
        The result; what it lacks for want of gold or of models stands in `left_undone`.

    Raises:
        UsageError: a question has no files, files are given for a question that is none, or an export lacks a field.
        InputError: a file cannot be read.
        DataError: the questions are about different items, an accepted answer was never given, or right answers are missing.
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
            f"without right answers the two questions are compared by their agreement alone ({argument('gold')})"
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
        raise UsageError(f"recipe {recipe.name} asks no question '{strange[0]}' (its questions: {there})")
    if missing:
        raise UsageError(
            f"question '{missing[0]}' has no files: give {argument('files', f'{missing[0]}=FILE')} (questions: {there})"
        )


def _join(recipe: Recipe, answers: Mapping[str, Answered]) -> pl.DataFrame:
    """A row an item, with every question's answer; items come from the questions that show all of their fields."""
    whole = [
        answers[name].table.select(recipe.item)
        for name in recipe.questions
        if set(recipe.item) <= set(recipe.shown(name))
    ]
    table = pl.concat(whole).unique(maintain_order=True)
    for name, own in answers.items():
        shown = list(recipe.shown(name))
        if not table.join(own.table, on=shown, how="semi", nulls_equal=True).height:
            raise DataError(
                f"question '{name}' answers none of the items: its {', '.join(shown)} match none of theirs"
            )
        table = table.join(own.table, on=shown, how="left", nulls_equal=True, maintain_order="left")
    return table


def _kept(recipe: Recipe, accepted: Mapping[str, tuple[str, ...]]) -> pl.Expr:
    """True where every question accepts; false where one refuses; null where one has no answer and none refuses."""
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

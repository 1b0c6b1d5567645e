"""Following a recipe: a baseline for every question, then the items kept, the scores and the comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from merilo.baselines.expert_comparison import compare
from merilo.baselines.pipeline import Baseline, baseline, test_items
from merilo.baselines.recipes.declaration import Recipe, ScoreStep
from merilo.baselines.settings import Settings
from merilo.errors import DataError, UsageError
from merilo.files import listed
from merilo.metrics.classification import acc, em, f1_macro, mcc
from merilo.metrics.detox import Rater, j_scores
from merilo.metrics.score import Score
from merilo.people import platforms
from merilo.people.duplicates import Repeats
from merilo.people.gold import read_gold, records
from merilo.people.platforms import Columns
from merilo.responses import INPUT_MARK, Responses
from merilo.statistics.comparison import Difference

_KEPT, _GOLD = "kept", "gold"

#: The number of an item or a row beside its fields, which may be called anything that is text.
_NUMBER = "\x1fnumber"


@dataclass(frozen=True, slots=True)
class RecipeResult:
    """What came of a recipe.

    Attributes:
        recipe: the recipe.
        questions: question -> its baseline.
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
        exports: question -> the files that its answers stand in.
        gold: right answers, joined on the item's fields.
        rater: who rates sentences for J.
        encoding: the files' encoding, where it is neither UTF-8 nor marked.
        repeats: what becomes of a person's second, different answer to an item.
        seed: of the intervals' resampling.

    Returns:
        The result; what it lacks for want of gold or of models stands in `left_undone`.

    Raises:
        UsageError: a question has no files, files are given for a question that is none, or an export lacks a field.
        InputError: a file cannot be read.
        DataError: the questions are about different items.
    """
    _require_files(recipe, exports)
    answered = {name: _answered(recipe, name, exports[name], encoding, repeats) for name in recipe.questions}
    table = _join(recipe, {name: consensus for name, (_, consensus) in answered.items()})
    if recipe.keep:
        table = table.with_columns(_kept(recipe).alias(_KEPT))
    if gold:
        table = table.with_columns(_golds(recipe, table, gold, encoding))
    scores: dict[str, Score] = {}
    left_undone: list[str] = []
    for step in recipe.scores:
        scored = table.filter(pl.col(_KEPT).fill_null(value=False)) if step.kept else table
        if step.metric == "j":
            found, missing = _j(step, scored, rater, seed)
        else:
            found, missing = _closed(recipe, step, scored, seed)
        scores |= found
        left_undone += missing
    comparison = _compared(recipe, table)
    if recipe.compare and comparison is None:
        left_undone.append(
            "without right answers the two questions are compared by their agreement alone (--gold)"
        )
    return RecipeResult(
        recipe,
        {name: made for name, (made, _) in answered.items()},
        table,
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
            f"question '{missing[0]}' has no files: give --files {missing[0]}=FILE (questions: {there})"
        )


def _answered(
    recipe: Recipe, name: str, paths: Sequence[Path], encoding: str | None, repeats: Repeats
) -> tuple[Baseline, pl.DataFrame]:
    """A question's baseline, and its answers by the item's fields."""
    shown, question = recipe.shown(name), recipe.questions[name]
    called = {one: question.columns.get(one, one) for one in shown}
    plain = all(platforms.recognise(path, encoding) == "csv" for path in paths)
    columns = Columns(answer=question.answer, item=tuple(called.values()) if plain else ())
    responses = platforms.read(list(paths), columns=columns, encoding=encoding)
    settings = Settings(
        min_votes=question.min_votes or recipe.min_votes,
        min_control_accuracy=recipe.min_control_accuracy,
        resolve=recipe.resolve,
        max_low_agreement=1.0,
        repeats=repeats,
    )
    made = baseline(responses, settings)
    fields = {one: _field(column, responses, paths[0], name) for one, column in called.items()}
    names = {"item": _NUMBER, **{column: one for one, column in fields.items()}}
    items = test_items(made.responses).rename(names)
    consensus = made.consensus.select(pl.col("item").alias(_NUMBER), pl.col("label").alias(name))
    answers = items.join(consensus, on=_NUMBER, how="left", maintain_order="left").select(*shown, name)
    doubled = answers.filter(pl.struct(shown).is_duplicated() & (pl.col(name).n_unique().over(shown) > 1))
    if doubled.height:
        raise DataError(
            f"two items of question '{name}' have the same {', '.join(shown)} and different answers: the recipe must show "
            "more of their fields",
            file=paths[0],
        )
    return made, answers.unique(list(shown), keep="first", maintain_order=True)


def _field(column: str, responses: Responses, path: Path, question: str) -> str:
    for name in (column, f"{INPUT_MARK}{column}"):
        if name in responses.fields:
            return name
    raise UsageError(
        f"question '{question}' has no field '{column}' (its fields: {listed(responses.fields)}); say in the recipe's "
        "'columns' how the export calls it",
        file=path,
    )


def _join(recipe: Recipe, answers: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """A row an item, with every question's answer; items come from the questions that show all of their fields."""
    whole = [
        answers[name].select(recipe.item)
        for name in recipe.questions
        if set(recipe.item) <= set(recipe.shown(name))
    ]
    table = pl.concat(whole).unique(maintain_order=True)
    for name, own in answers.items():
        shown = list(recipe.shown(name))
        table = table.join(own, on=shown, how="left", nulls_equal=True, maintain_order="left")
        if table[name].null_count() == table.height:
            raise DataError(
                f"question '{name}' answers none of the items: its {', '.join(shown)} match none of theirs"
            )
    return table


def _kept(recipe: Recipe) -> pl.Expr:
    """True where every question accepts; false where one refuses; null where one has no answer and none refuses."""
    accepted = [pl.col(name) == recipe.questions[name].accept for name in recipe.keep]
    return pl.all_horizontal(accepted)


def _golds(recipe: Recipe, table: pl.DataFrame, path: Path, encoding: str | None) -> list[pl.Series]:
    """Right answers, a column a criterion: `gold`, `gold.virtue` ..."""
    wanted = dict.fromkeys(column for step in recipe.scores if step.metric != "j" for column in step.gold)
    marked = {name: f"{INPUT_MARK}{name}" for name in recipe.item if name in {"item", "row"}}
    items = table.select(recipe.item).rename(marked).with_row_index("item", offset=1)
    there = records(path, encoding).columns
    labels = sorted({text for name in recipe.questions for text in table[name].drop_nulls().unique()})
    golds = []
    for column in wanted:
        called = next(
            (name for name in (column, f"outputs.{column}", f"meta.{column}") if name in there), None
        )
        if called is None and column != _GOLD:
            raise UsageError(
                f"there is no column '{column}' of right answers (there are: {listed(there[1:])})", file=path
            )
        found = read_gold(path, items, column=called, labels=labels, encoding=encoding)
        known = found.answers.select("item", "gold")
        joined = items.select("item").join(known, on="item", how="left", maintain_order="left")
        golds.append(joined["gold"].alias(_gold_column(column)))
    return golds


def _gold_column(criterion: str) -> str:
    return criterion if criterion == _GOLD else f"{_GOLD}.{criterion}"


def _closed(
    recipe: Recipe, step: ScoreStep, table: pl.DataFrame, seed: int
) -> tuple[dict[str, Score], list[str]]:
    """A metric of answers and right answers, for every question and criterion."""
    asked = recipe.asked(step)
    if _gold_column(step.gold[0]) not in table.columns:
        return {}, [f"{step.metric} of {', '.join(asked)} needs right answers (--gold)"]
    scores = {}
    for question in asked:
        for criterion in step.gold:
            name = f"{question}.{step.metric if criterion == _GOLD else criterion}"
            pairs = _pairs(table[question], table[_gold_column(criterion)])
            scores[name] = _score(step, name, *pairs, seed)
    return scores, []


def _pairs(answers: pl.Series, gold: pl.Series) -> tuple[list[str], list[str]]:
    both = pl.DataFrame({"answer": answers, "gold": gold}).drop_nulls()
    return both["answer"].to_list(), both["gold"].to_list()


def _score(step: ScoreStep, name: str, answers: list[str], gold: list[str], seed: int) -> Score:
    if step.metric == "mcc":
        return mcc(answers, gold, name=name, seed=seed)
    if step.metric == "f1_macro":
        found = f1_macro(answers, gold, seed=seed)
    else:
        found = (acc if step.metric == "acc" else em)(answers, gold)
    return Score(name, found.value, found.n, found.interval, found.per_item)


def _j(
    step: ScoreStep, table: pl.DataFrame, rater: Rater | None, seed: int
) -> tuple[dict[str, Score], list[str]]:
    pairs = table.select(str(step.source), str(step.rewritten)).drop_nulls()
    if rater is None:
        return {}, [
            f"J of the {pairs.height} kept pairs needs the three classifiers: give --rudetox-models (and the extra 'hf')"
        ]
    if not pairs.height:
        return {}, ["J is not defined: no pair was kept"]
    toxic, rewritten = (pairs[name].to_list() for name in pairs.columns)
    return j_scores(rater.rate(toxic, rewritten), seed=seed), []


def _compared(recipe: Recipe, table: pl.DataFrame) -> Difference | None:
    if not recipe.compare or _GOLD not in table.columns:
        return None
    sides = []
    for name in reversed(recipe.compare):
        right = pl.col(name) == pl.col(_GOLD)
        known = table.with_row_index(_NUMBER).select(_NUMBER, correct=right).drop_nulls()
        sides.append({str(row): bool(ok) for row, ok in known.iter_rows()})
    return compare(*sides)


def _agreement(recipe: Recipe, table: pl.DataFrame) -> tuple[int, int] | None:
    if not recipe.compare:
        return None
    one, two = recipe.compare
    both = table.select(one, two).drop_nulls()
    return int((both[one] == both[two]).sum()), both.height

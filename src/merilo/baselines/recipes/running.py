"""Running a recipe: a baseline for every question, then the items kept, their scores and the comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import polars as pl

from merilo.baselines.dataset_items import item_points, metas, texts
from merilo.baselines.expert_scores import compare
from merilo.baselines.pipeline import Baseline, baseline, test_items
from merilo.baselines.recipes import GOLD, KEPT, Recipe, ScoreStep
from merilo.datasets import Dataset
from merilo.datasets.declaration import Answer, undeclared
from merilo.errors import DataError, MeriloError, UsageError, argument
from merilo.items import Item, ItemId
from merilo.metrics.answers import Given
from merilo.metrics.detox import Rater
from merilo.metrics.score import Score
from merilo.metrics.scoring import NO_RATER, RATED, score
from merilo.people import platforms
from merilo.people.gold import read_gold
from merilo.people.gold_file import records
from merilo.people.platforms import Columns
from merilo.people.spelling import unify
from merilo.responses import INPUT_MARK, Responses
from merilo.settings import DEFAULTS, Repeats, Settings
from merilo.statistics.paired_tests import Difference
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


_NUMBER = "\x1fnumber"


@dataclass(frozen=True, slots=True)
class Answered:
    """The answers to one question.

    Attributes:
        made: the question's baseline.
        table: the fields that the question shows, and the answer in a column named after the question (null without a
            majority); items that are shown alike and have different answers are missing.
        alike: these items, with further fields of the recipe's items that distinguish them, and the answer.
        accepted: the labels that accept an item, in the spelling of the answers.
    """

    made: Baseline
    table: pl.DataFrame
    alike: pl.DataFrame
    accepted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Read:
    """The content of a question's files.

    Responses, item field -> column of shown and further fields, accepted labels.
    """

    responses: Responses
    columns: Mapping[str, str]
    further: Mapping[str, str]
    accepted: tuple[str, ...]


def read_answers(
    recipe: Recipe, exports: Mapping[str, Sequence[Path]], *, encoding: str | None, repeats: Repeats
) -> dict[str, Answered]:
    """Read the files of every question and compute its baseline.

    Args:
        recipe: the recipe.
        exports: mapping from question to its files.
        encoding: the files' encoding, if it is not UTF-8 and has no byte order mark.
        repeats: what happens to an annotator's second, different answer to an item.

    Raises:
        UsageError: a file lacks a field or the column of answers; the message names the question that the file fits.
        InputError: a file cannot be read.
        DataError: no annotator gave an answer that the recipe accepts, or two items have the same fields.
    """
    found = {}
    for name in recipe.questions:
        try:
            read = _read(recipe, name, exports[name], encoding)
        except MeriloError as error:
            if (better := _fitting(recipe, name, exports[name], encoding)) is None:
                raise
            raise type(error)(
                f"{error.marked}; the file fits question '{better}': check that the files are not swapped",
                file=error.place.file,
                row=error.place.row,
                field=error.place.field,
            ) from error
        found[name] = _answered(recipe, name, read, exports[name][0], repeats)
    return found


def _fitting(recipe: Recipe, question: str, paths: Sequence[Path], encoding: str | None) -> str | None:
    """Return another question whose fields and answers these files have."""
    for other in recipe.questions:
        if other != question:
            try:
                _read(recipe, other, paths, encoding)
            except MeriloError:
                continue
            return other
    return None


def _read(recipe: Recipe, name: str, paths: Sequence[Path], encoding: str | None) -> _Read:
    question, declared = recipe.questions[name], recipe.declared
    called = {one: question.columns.get(one, one) for one in recipe.shown(name)}
    plain = all(platforms.recognise(path, encoding) == "csv" for path in paths)
    columns = Columns(answer=question.answer, item=tuple(called.values()) if plain else ())
    labels = declared.answer.labels if declared else None
    responses = platforms.read(list(paths), columns=columns, labels=labels or None, encoding=encoding)
    fields = {one: _field(column, responses) for one, column in called.items()}
    for one, column in fields.items():
        if not column:
            raise UsageError(
                f"question '{name}' has no field '{called[one]}' (its fields: {listed(responses.fields)}); give its "
                "name in the export in the recipe's 'columns'",
                file=paths[0],
            )
    further = {
        one: _field(question.columns.get(one, one), responses) for one in recipe.item if one not in called
    }
    responses = _without(responses, recipe.ignore)
    return _Read(
        responses,
        fields,
        {one: column for one, column in further.items() if column},
        _accepted(question.accept, responses, paths[0], name),
    )


def _field(column: str, responses: Responses) -> str:
    """Return a field's name in the responses; an empty text if they lack it."""
    return next((name for name in (column, f"{INPUT_MARK}{column}") if name in responses.fields), "")


def _without(responses: Responses, ignored: Sequence[str]) -> Responses:
    """Drop the ignored fields; items that differ only in them become one item."""
    kept = [name for name in responses.fields if name.removeprefix(INPUT_MARK) not in ignored]
    if kept == responses.fields:
        return responses
    empty = pl.all_horizontal(pl.col(name).is_null() for name in kept)
    blank = responses.items.filter(empty)["item"].to_list()
    responses = responses.without(pl.col("item").is_in(blank), "empty_input")
    items = (
        responses.items.filter(~empty)
        .select(kept)
        .unique(maintain_order=True)
        .with_row_index("item", offset=1)
    )
    number = responses.items.join(
        items.rename({"item": _NUMBER}), on=kept, how="inner", nulls_equal=True
    ).select("item", _NUMBER)
    table = (
        responses.table.join(number, on="item", how="left", maintain_order="left")
        .with_columns(pl.col(_NUMBER).alias("item"))
        .drop(_NUMBER)
    )
    return replace(responses, table=table, items=items)


def _accepted(accept: Sequence[str], responses: Responses, path: Path, question: str) -> tuple[str, ...]:
    """Return the accepted answers in the spelling of the collected answers."""
    counted = responses.table["answer"].value_counts().sort(["count", "answer"], descending=[True, False])
    counts = {str(text): int(n) for text, n in counted.iter_rows()}
    found = []
    for value in accept:
        label = value if value in counts else unify([value], sorted(counts))[value]
        if label not in counts:
            given = listed([f"{text} ({n})" for text, n in counts.items()])
            raise DataError(
                f"question '{question}' accepts '{value}', but no response has this answer (answers: {given})",
                file=path,
            )
        found.append(label)
    return tuple(found)


def _answered(recipe: Recipe, name: str, read: _Read, path: Path, repeats: Repeats) -> Answered:
    """Compute a question's baseline, and its answers by the item's fields."""
    shown = recipe.shown(name)
    settings = Settings(
        min_votes=recipe.questions[name].min_votes or recipe.min_votes,
        min_control_accuracy=recipe.min_control_accuracy,
        resolve=recipe.resolve,
        max_low_agreement=1.0,
        repeats=repeats,
    )
    made = baseline(read.responses, settings)
    both = {**read.columns, **read.further}
    items = test_items(made.responses).select(
        pl.col("item").alias(_NUMBER), *(pl.col(column).alias(one) for one, column in both.items())
    )
    consensus = made.consensus.select(pl.col("item").alias(_NUMBER), pl.col("label").alias(name))
    answers = items.join(consensus, on=_NUMBER, how="left", maintain_order="left").select(*both, name)
    differ = pl.struct(shown).is_duplicated() & (pl.col(name).n_unique().over(shown) > 1)
    alike = answers.filter(differ)
    if alike.select(pl.struct(*both).is_duplicated().any()).item():
        raise DataError(
            f"two items of question '{name}' have the same {', '.join(shown)} and different answers: add "
            "distinguishing fields to the question's 'shows', or ignore fields that do not belong to the item",
            file=path,
        )
    table = answers.filter(~differ).select(*shown, name)
    return Answered(made, table.unique(list(shown), keep="first", maintain_order=True), alike, read.accepted)


_ALIKE = "\x1falike"


@dataclass(frozen=True, slots=True)
class RecipeResult:
    """The result of a recipe.

    Attributes:
        recipe: the recipe.
        questions: mapping from question to its baseline.
        accepted: mapping from question to the labels that accept an item, in the spelling of the answers.
        table: one row per item: its fields, every question's answer (null if there is none), the gold answers
            if they are known, and `kept` if the recipe filters items: true, false, or null if a question has
            no answer and no question rejects the item.
        scores: mapping from name to score: `correct.virtue`, `with_history.acc`, `j`.
        comparison: the difference of the two questions that the recipe compares (first minus second) on the
            items with an answer to both; `None` without gold.
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
    repeats: Repeats = DEFAULTS["repeats"],
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
        DataError: the questions are about different items, an accepted answer never occurs, or gold answers
            are missing.
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
            f"two items of question '{name}' have the same {', '.join(shown)} and different answers, and the other "
            f"questions have no item with their {listed([one for one in fields if one not in shown])}: add "
            "distinguishing fields to the question's 'shows'"
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

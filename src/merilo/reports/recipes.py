"""`merilo.run_recipe`: combine the answers to several questions about each item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from merilo.atomic_write import guarded
from merilo.baselines.expert_baseline import difference_summary
from merilo.baselines.pipeline import Baseline
from merilo.baselines.provenance import Provenance, command_line, provenance
from merilo.baselines.recipes import Recipe, names
from merilo.baselines.recipes import recipe as find_recipe
from merilo.baselines.recipes.running import RecipeResult
from merilo.baselines.recipes.running import run_recipe as run
from merilo.baselines.record import resolved_by, score_record
from merilo.errors import UsageError, for_library
from merilo.metrics.detox import Rater, rater_of
from merilo.metrics.score import Score
from merilo.records import rounded, save_result
from merilo.settings import DEFAULTS, Settings
from merilo.strict_json import Json
from merilo.studies.collected import collected_table
from merilo.studies.study_export import arm_of
from merilo.studies.study_folder import open_study
from merilo.wording import shown


@dataclass(frozen=True, slots=True, repr=False)
class RecipeRun:
    """The result of a recipe.

    Attributes:
        details: the internal representation of the result.
        provenance: how the result was computed.
        inputs: the files that were read.
        rater: the classifiers of the metric J; `None` if J was not computed.
    """

    details: RecipeResult
    provenance: Provenance
    inputs: tuple[Path, ...]
    rater: Rater | None

    @property
    def items(self) -> pl.DataFrame:
        """Return one row per item: its fields, every question's answer, the gold answers and whether it was kept."""
        return self.details.table

    @property
    def scores(self) -> Mapping[str, Score]:
        """Return the scores by name, each with `value`, `n` and `interval`."""
        return self.details.scores

    @property
    def left_undone(self) -> tuple[str, ...]:
        """Return what could not be computed, one sentence each."""
        return tuple(map(for_library, self.details.left_undone))

    def to_dict(self) -> dict[str, Json]:
        """Return the result as JSON, as `merilo recipe run --json` prints it."""
        return recipe_summary(self.details, self.provenance)

    def save(self, folder: str | Path, *, force: bool = False) -> dict[str, Json]:
        """Write the folder that `merilo recipe run --out` writes: `recipe.json` and `items.csv`.

        Args:
            folder: a new folder.
            force: replace an existing one.

        Returns:
            The result as JSON.

        Raises:
            OutputError: the folder exists and `force` is not given, or it contains an input file.
        """
        tables = {"items.csv": guarded(self.items)}
        return save_result(folder, "recipe.json", self.to_dict(), tables, force=force, needed=self.inputs)

    def __repr__(self) -> str:
        lines = [f"recipe {self.details.recipe.name}: {self.items.height} items"]
        lines += [f"  {name} {one.value:.3f} on {one.n} items" for name, one in self.scores.items()]
        return "\n".join([*lines, *(f"  {one}" for one in self.left_undone)])


def run_recipe(
    recipe: str | Path,
    files: Mapping[str, str | Path | Sequence[str | Path]],
    *,
    gold: str | Path | None = None,
    rudetox_models: str | Path | Rater | None = None,
    rudetox_curves: str | Path | None = None,
    encoding: str | None = None,
    seed: int = 0,
    settings: Settings | None = None,
    **chosen: object,
) -> RecipeRun:
    """Run a recipe: a baseline for every question, the items kept, the scores and the comparison.

    Args:
        recipe: a recipe's name, or the path of a YAML declaration.
        files: mapping from question to the file or files of its answers.
        gold: a file of gold answers, joined on the item's fields.
        rudetox_models: the classifiers of the metric J: a folder with `sta`, `sim` and `fl`, "hub" for the published
            models, or a rater object; by default, J is not computed.
        rudetox_curves: the file of J's calibration curves; by default, the identity.
        encoding: the files' encoding, if it is not UTF-8 and has no byte order mark.
        seed: random seed for the bootstrap resamples of the intervals.
        settings: the settings, of which a recipe uses `repeats`; by default, the defaults of `Settings`.
        chosen: single settings by name: `repeats`.

    Raises:
        UsageError: there is no such recipe, a question has no files, or files are given for an unknown question.
        InputError: a file cannot be read.
        DataError: the questions are about different items, an accepted answer never occurs, or gold answers
            are missing.
    """
    repeats = Settings.of(chosen, settings).repeats
    exports = {
        question: [Path(given)] if isinstance(given, str | Path) else [Path(one) for one in given]
        for question, given in files.items()
    }
    known = Path(gold) if gold is not None else None
    declared = find_recipe(str(recipe))
    declared, exports = _with_studies(declared, exports)
    rater = rater_of(rudetox_models, rudetox_curves)
    result = run(declared, exports, gold=known, rater=rater, encoding=encoding, repeats=repeats, seed=seed)
    own = [Path(recipe)] if str(recipe) not in names() else []
    inputs = (*own, *(path for paths in exports.values() for path in paths), *([known] if known else []))
    options: dict[str, Json] = {
        "recipe": str(recipe),
        "files": [f"{question}={shown(path)}" for question, paths in exports.items() for path in paths],
        "gold": str(known) if known else None,
        "rudetox_models": str(rudetox_models) if isinstance(rudetox_models, str | Path) else None,
        "rudetox_curves": str(rudetox_curves) if rudetox_curves else None,
        "encoding": encoding,
        "seed": seed,
        "repeats": repeats,
    }
    asked = {name: value for name, value in options.items() if name != "recipe"}
    defaults: dict[str, Json] = {"seed": 0, "repeats": DEFAULTS["repeats"]}
    command = command_line("recipe run", [Path(recipe)], asked, defaults)
    if rater:
        options["rating"] = dict(rater.making)
    return RecipeRun(result, provenance(command, inputs, options), inputs, rater)


def _with_studies(
    recipe: Recipe, exports: Mapping[str, Sequence[Path]]
) -> tuple[Recipe, dict[str, list[Path]]]:
    """Replace the folders of studies by the tables of their collected answers.

    The questions are then read in the form of these tables.
    """
    tables = {question: list(paths) for question, paths in exports.items()}
    asked = dict(recipe.questions)
    for question, paths in tables.items():
        if question not in asked or not any(map(Path.is_dir, paths)):
            continue
        if not all(map(Path.is_dir, paths)):
            raise UsageError(f"question '{question}' has both a study and a file: give one of them")
        for place, path in enumerate(paths):
            study = open_study(path)
            name = study.declared().name
            if name.startswith(f"{recipe.name}-") and name != f"{recipe.name}-{question}":
                fits = name.removeprefix(f"{recipe.name}-")
                raise UsageError(
                    f"asks question '{fits}', not '{question}': check that the studies are not swapped",
                    file=path,
                )
            paths[place], _ = collected_table(study, arm_of(study, None)[0])
        known = asked[question]
        asked[question] = replace(known, answer="answer", accept=known.accept_in_study or known.accept)
    return replace(recipe, questions=asked), tables


def recipe_summary(result: RecipeResult, provenance: Provenance) -> dict[str, Json]:
    """Summarise every question's baseline, the items kept, the scores and the comparison.

    Args:
        result: the result of the recipe.
        provenance: the provenance of the result.
    """
    recipe = result.recipe
    return {
        "recipe": recipe.name,
        "items": result.table.height,
        "questions": {name: _question(name, made, result) for name, made in result.questions.items()},
        "kept": _kept(result) if recipe.keep else None,
        "metrics": {name: _score(score) for name, score in result.scores.items()},
        "comparison": None
        if result.agreement is None
        else {
            "questions": list(recipe.compare),
            "same_answer": result.agreement[0],
            "n": result.agreement[1],
            **_comparison(result),
        },
        "left_undone": list(result.left_undone),
        "provenance": provenance.to_json(),
    }


def _comparison(result: RecipeResult) -> dict[str, Json]:
    found = result.comparison
    if found is None:
        return {"accuracy": None}
    return {
        "accuracy": [rounded(found.second), rounded(found.first)],
        **difference_summary(found),
        "only_first_right": found.better,
        "only_second_right": found.worse,
    }


def _question(name: str, made: Baseline, result: RecipeResult) -> dict[str, Json]:
    counts = result.table[name].drop_nulls().value_counts().sort(name)
    return {
        "about": result.recipe.questions[name].about,
        "annotators": made.annotators.height,
        "excluded": int(made.annotators["excluded"].sum()),
        "responses": made.used.height,
        "items": made.items,
        "resolved_by": resolved_by(made.resolved_by).to_json(),
        "answers": {str(label): int(n) for label, n in counts.iter_rows()},
        "krippendorff_alpha": rounded(made.alpha),
    }


def _kept(result: RecipeResult) -> dict[str, Json]:
    kept = result.table["kept"]
    accepted: dict[str, Json] = {
        name: int(result.table[name].is_in(result.accepted[name]).sum()) for name in result.recipe.keep
    }
    return {
        "items": int(kept.sum()),
        "refused": int((~kept).sum()),
        "undecided": kept.null_count(),
        "accepted_by": accepted,
    }


def _score(score: Score) -> dict[str, Json]:
    method = score.interval.method if score.interval else None
    return score_record(score, method=method).to_json()

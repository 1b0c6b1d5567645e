"""Under which choices a verdict holds: each answer equals that of a baseline made with the other choice from the start."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import merilo as library
from merilo.baselines.model_comparison import holds_sentence
from merilo.baselines.model_verdicts import Holds
from merilo.reports.comparison import Comparison
from merilo.reports.comparison_table import notes
from merilo.reports.dataset_comparisons import compare_datasets
from merilo.statistics.paired_tests import holm

LABELS = np.array([*"ABCD"])
ITEMS = 200


def world(seed: int) -> tuple[pl.DataFrame, dict[str, str], dict[str, dict[str, str]]]:
    """Answers of 24 people of every accuracy, with control items; gold; models near the crowd and a single person."""
    rng = np.random.default_rng(seed)
    gold = rng.choice(4, ITEMS)
    accuracy = np.linspace(0.25, 0.95, 24)
    rows: list[tuple[str, str, str, str | None]] = []

    def answer(person: int, truth: int) -> str:
        return str(LABELS[truth if rng.random() < accuracy[person] else rng.integers(4)])

    for control in range(10):
        for person in range(24):
            truth = control % 4
            rows.append((f"control {control}", f"p{person}", answer(person, truth), str(LABELS[truth])))
    for item in range(ITEMS):
        rows += [
            (f"question {item}", f"p{person}", answer(person, int(gold[item])), None)
            for person in rng.permutation(24)[:5].tolist()
        ]
    frame = pl.DataFrame(rows, schema=["text", "annotator", "answer", "golden"], orient="row")
    known = {f"question {item}": str(LABELS[code]) for item, code in enumerate(gold)}
    models = {
        f"{wrong} wrong": {
            f"question {i}": str(LABELS[(code + (i < wrong)) % 4]) for i, code in enumerate(gold)
        }
        for wrong in (15, 33)
    }
    return frame, known, models


def compared(
    frame: pl.DataFrame, gold: dict[str, str], models: dict[str, dict[str, str]], **chosen: object
) -> Comparison:
    responses = library.read_responses(
        frame, item=["text"], annotator="annotator", answer="answer", control="golden"
    )
    made = library.baseline(responses, gold=gold, min_votes=3, **chosen)
    return library.compare(made, models)


def outcomes(found: Comparison) -> list[str]:
    return [match.verdict.outcome for match in found.matches() if match.verdict]


@pytest.fixture(scope="module", params=[0, pytest.param(1, marks=pytest.mark.thorough)])
def study(request: pytest.FixtureRequest) -> tuple:
    parts = world(request.param)
    return (*parts, compared(*parts))


def test_the_thresholds_are_those_of_baselines_with_these_thresholds(study: tuple) -> None:
    frame, gold, models, found = study
    seen = set()
    for threshold in (0.3, 0.4, 0.5, 0.6, 0.7):
        other = outcomes(compared(frame, gold, models, min_control_accuracy=threshold))
        for match, outcome in zip(found.matches(), other, strict=True):
            seen.add(match.holds.thresholds[threshold])
            assert match.holds.thresholds[threshold] == (outcome == match.verdict.outcome)
    assert seen == {True, False}


def test_the_procedures_are_those_of_baselines_by_them(study: tuple) -> None:
    frame, gold, models, found = study
    ways = {
        "majority": {"resolve": "none"},
        "cascade": {},
        "auto": {"aggregator": "auto"},
        "one-coin": {"aggregator": "one-coin"},
        "glad": {"aggregator": "glad"},
    }
    for name, chosen in ways.items():
        other = outcomes(compared(frame, gold, models, **chosen))
        for match, outcome in zip(found.matches(), other, strict=True):
            if match.kind == "single":
                assert match.holds.procedures == {}, "no procedure decides single answers"
            else:
                assert [*match.holds.procedures] == [*ways]
                assert match.holds.procedures[name] == (outcome == match.verdict.outcome), name


@pytest.mark.thorough
def test_left_out_annotators_are_those_of_responses_without_them() -> None:
    frame, gold, models = world(0)
    found = compared(frame, gold, models, resolve="none")
    counted = found.baseline.annotators
    changing: list[set[str]] = [set() for _ in found.matches()]
    for person in counted:
        other = outcomes(compared(frame.filter(pl.col("annotator") != person), gold, models, resolve="none"))
        for match, outcome, names in zip(found.matches(), other, changing, strict=True):
            if outcome != match.verdict.outcome:
                names.add(person)
    assert [set(match.holds.changed_by) for match in found.matches()] == changing
    assert {match.holds.annotators for match in found.matches()} == {len(counted)}
    assert sum(map(bool, changing)) >= 2


def two_datasets(folder: Path) -> list[Path]:
    made = []
    for seed, name in enumerate(("one", "two")):
        frame, gold, models = world(seed)
        names = {text: f"{name}-{text.split()[1]}" for text in gold}
        rows = pl.DataFrame({"id": [*names.values()], "text": [*names], "gold": [*gold.values()]})
        rows.write_csv(folder / f"{name}.items.csv")
        responses = library.read_responses(
            frame, item=["text"], annotator="annotator", answer="answer", control="golden"
        )
        library.baseline(responses, gold=folder / f"{name}.items.csv", gold_column="gold", min_votes=3).save(
            folder / name
        )
        made.append(folder / name)
        for model, answers in models.items():
            place = folder / model.replace(" ", "-")
            place.mkdir(exist_ok=True)
            table = {"id": [names[text] for text in answers], "answer": [*answers.values()]}
            pl.DataFrame(table).write_csv(place / f"{name}.csv")
    return [*made, folder / "15-wrong", folder / "33-wrong"]


def test_over_datasets_there_is_one_correction_for_models_datasets_and_columns(tmp_path: Path) -> None:
    paths = two_datasets(tmp_path)
    found = compare_datasets(paths[:2], paths[2:])
    assert len(found.results) == 2
    matches = [match for one in found.results.values() for match in one.matches()]
    assert len(matches) == 8
    assert [match.corrected for match in matches] == holm([match.p for match in matches])
    assert any("8 comparisons of the table" in one.en for one in notes(found.table))
    assert {one.to_dict()["correction"] for one in found.results.values()} == {
        "Holm over 8 comparisons: all models, datasets and kinds of comparison"
    }
    # Of one dataset each column has its own correction, and the verdicts of the others do not matter.
    alone = compare_datasets(paths[:1], paths[2:])
    (one,) = alone.results.values()
    for kind in ("consensus", "single"):
        own = [match for match in one.matches() if match.kind == kind]
        assert [match.corrected for match in own] == holm([match.p for match in own])
    assert not any("comparisons of the table" in one.en for one in notes(alone.table))


def test_wrong_gold_answers_against_the_model_are_left_out() -> None:
    _, gold, _ = world(0)
    sure = {
        name: ("ABCD"["ABCD".index(label) - 1] if int(name.split()[1]) < 10 else label)
        for name, label in gold.items()
    }
    rows = [
        (name, f"p{(at + k) % 24}", label, None)
        for at, (name, label) in enumerate(gold.items())
        for k in range(5)
    ]
    people = pl.DataFrame(rows, schema=["text", "annotator", "answer", "golden"], orient="row")
    found = compared(people, sure, {"m": sure})
    consensus = found.matches()[0]
    assert consensus.verdict.outcome == "above"
    assert (consensus.holds.suspects, consensus.holds.without_suspects) == (10, False)
    assert consensus.holds.thresholds == {}, "there are no control items"
    assert "not without the 10 suspect gold answers" in holds_sentence(consensus.holds).en


def test_a_saved_baseline_and_one_in_memory_hold_alike(tmp_path: Path) -> None:
    frame, gold, models = world(0)
    responses = library.read_responses(
        frame, item=["text"], annotator="annotator", answer="answer", control="golden"
    )
    made = library.baseline(responses, gold=gold, min_votes=3)
    made.save(tmp_path / "saved")
    names = {**dict(zip(made.consensus["text"], made.consensus["id"], strict=True))}
    answers = {
        model: {str(names[text] or text): label for text, label in given.items()}
        for model, given in models.items()
    }
    in_memory = library.compare(made, answers)
    saved = library.compare(tmp_path / "saved", answers)
    assert [match.holds for match in saved.matches()] == [match.holds for match in in_memory.matches()]
    told = saved.to_dict()["models"][0]["comparisons"]["consensus"]["holds"]
    assert told["sentence"]["en"] == holds_sentence(saved.matches()[0].holds).en


def test_the_sentence_names_what_changes_the_verdict() -> None:
    holds = Holds(
        {0.3: True, 0.4: True, 0.5: True, 0.6: True, 0.7: False},
        {"majority": False, "auto": True},
        3,
        True,
        40,
        ("p7",),
    )
    assert holds_sentence(holds).en == (
        "The verdict holds for 4 of 5 thresholds from 0.3 to 0.7 (not 0.7), in 1 of 2 procedures (not majority), "
        "without the 3 suspect gold answers, without each of 39 of 40 annotators (not without p7)."
    )
    every = Holds({0.3: True, 0.7: True}, {"majority": True, "auto": True}, 0, None, 40)
    assert holds_sentence(every).ru == (
        "Вывод не меняется при всех порогах от 0,3 до 0,7, при всех 2 способах агрегации, "
        "без любого одного из 40 разметчиков."
    )

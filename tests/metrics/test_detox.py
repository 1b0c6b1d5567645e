"""J computed from ratings; curves, held against scikit-learn; classifiers, on tiny random models saved here."""

import json
import tempfile
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression
from tiny_models import POLITE, TOXIC

from merilo.errors import InputError, MissingPartError
from merilo.items import Item
from merilo.metrics import classifiers
from merilo.metrics.answers import Answer
from merilo.metrics.classifiers import IDENTITY, Calibration, Classifier, Classifiers, Curve
from merilo.metrics.detox import PARTS, Ratings
from merilo.metrics.registry import Scoring
from merilo.metrics.scoring import explain, score

RUDETOX = Scoring(name="", answer=Answer(kind="text"), metrics=("j", *PARTS))


class Known:
    """A rater that gives ratings in turn."""

    making: ClassVar[dict[str, str]] = {}

    def __init__(self, ratings: Ratings) -> None:
        self.ratings = ratings

    def rate(self, toxic, rewritten) -> Ratings:
        return self.ratings


def j_scores(ratings: Ratings):
    items = [Item(number, "", "") for number in range(len(ratings.sta))]
    return score(RUDETOX, items, {item.id: "" for item in items}, rater=Known(ratings)).main


unit = st.floats(0, 1, allow_subnormal=False)


@settings(deadline=None)
@given(st.lists(st.tuples(unit, unit, unit), min_size=1, max_size=20))
def test_j_multiplies_before_it_averages(rows: list[tuple[float, float, float]]) -> None:
    sta, sim, fl = (np.array(column) for column in zip(*rows, strict=True))
    scores = j_scores(Ratings(sta, sim, fl))
    by_hand = sum(a * b * c for a, b, c in rows) / len(rows)
    assert scores["j"].value == pytest.approx(by_hand)
    assert scores["j"].value <= min(scores[part].value for part in PARTS) + 1e-12
    assert list(scores["j"].per_item.values()) == pytest.approx([a * b * c for a, b, c in rows])


@settings(deadline=None)
@given(st.integers(0, 2**32), st.lists(unit, min_size=1, max_size=20))
def test_a_curve_is_scikit_learns_isotonic_regression(seed: int, asked: list[float]) -> None:
    rng = np.random.default_rng(seed)
    probabilities = rng.random(50)
    judgements = (rng.random(50) < probabilities).astype(float)
    fitted = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(probabilities, judgements)
    ours = Curve(x=fitted.X_thresholds_.tolist(), y=fitted.y_thresholds_.tolist())
    assert ours(np.array(asked)) == pytest.approx(fitted.predict(asked), abs=1e-9)


def test_without_a_file_every_probability_stands_for_itself_and_the_name_says_so() -> None:
    identity = Calibration.read(IDENTITY)
    asked = np.linspace(0, 1, 11)
    for part in PARTS:
        assert getattr(identity.curves, part)(asked) == pytest.approx(asked)
    assert identity.name == "identity"
    assert "not comparable" in identity.provenance


GOOD = {"x": [0.1, 0.9], "y": [0.0, 1.0]}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"format": "other"}, "format: must be 'merilo-calibration/1'"),
        ({"provenance": ""}, "provenance: must not be empty"),
        ({"curves": None}, "curves: must be a mapping"),
        ({"curves": {"sta": GOOD, "sim": GOOD}}, "curves.fl: is missing"),
        ({"curves": {"sta": GOOD, "sim": GOOD, "fl": {"x": [0.5, 0.5], "y": [0, 1]}}}, "increasing strictly"),
        ({"curves": {"sta": GOOD, "sim": GOOD, "fl": {"x": [0.1, 0.5], "y": [1, 0]}}}, "never decreasing"),
        ({"curves": {"sta": GOOD, "sim": GOOD, "fl": {"x": [0, 1], "y": [0, 2]}}}, "y.1: must be 1 or less"),
        ({"curves": {"sta": GOOD, "sim": GOOD, "fl": {"x": [0.1], "y": [0, 1]}}}, "x and y of equal length"),
        ({"curves": {"sta": GOOD, "sim": GOOD, "fl": {"x": ["a"], "y": [0]}}}, "curves.fl"),
        ({"curves": {"sta": GOOD, "sim": GOOD, "fl": {"x": [float("nan")], "y": [0]}}}, "is not JSON"),
    ],
)
def test_a_file_of_curves_is_read_strictly(tmp_path: Path, change: dict, sentence: str) -> None:
    file = tmp_path / "curves.json"
    content = {"format": "merilo-calibration/1", "name": "mine", "provenance": "fitted to my own judgements"}
    file.write_text(json.dumps({**content, "curves": dict.fromkeys(PARTS, GOOD)}))
    assert Calibration.read(file).name == "mine"
    file.write_text(json.dumps({**content, "curves": dict.fromkeys(PARTS, GOOD), **change}))
    with pytest.raises(InputError, match=sentence):
        Calibration.read(file)


def by_hand(folder: Path, index: int, sentences: list[tuple[str, ...]]) -> list[float]:
    """Each sentence, or pair of sentences, alone through the model: no batches, no padding."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    found = []
    for texts in sentences:
        words = tokenizer(*texts, return_tensors="pt", truncation=True, max_length=512)
        with torch.no_grad():
            found.append(float(torch.softmax(model(**words).logits, -1)[0, index]))
    return found


@pytest.fixture(scope="module")
def rated_by_hand(tiny_models: Path) -> dict[str, list[float]]:
    alone, pairs = [(polite,) for polite in POLITE], list(zip(TOXIC, POLITE, strict=True))
    return {
        part: by_hand(tiny_models / part, index, sentences)
        for part, index, sentences in (("sta", 0, alone), ("sim", 1, pairs), ("fl", 1, alone))
    }


@pytest.mark.torch
@pytest.mark.parametrize("batch_size", [1, 3, 32])
def test_batches_give_what_each_sentence_gives_alone(
    tiny_models: Path,
    rated_by_hand: dict[str, list[float]],
    batch_size: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(classifiers, "BATCH", batch_size)
    ratings = Classifiers(tiny_models).rate(TOXIC, POLITE)
    for part, expected in rated_by_hand.items():
        assert getattr(ratings, part) == pytest.approx(expected, abs=1e-5)
    assert len(set(ratings.sta.round(6))) > 1, (
        "a model that answers the same to everything would prove nothing"
    )


@pytest.mark.torch
def test_the_judgement_of_one_sentence_is_its_share_of_j(tiny_models: Path) -> None:
    rater = Classifiers(tiny_models)
    scores = j_scores(rater.rate(TOXIC, POLITE))
    for number, (toxic, polite) in enumerate(zip(TOXIC, POLITE, strict=True), start=0):
        assert explain(RUDETOX, Item(1, "", toxic), polite, rater=rater)[0].points == pytest.approx(
            scores["j"].per_item[number], abs=1e-6
        )


@pytest.mark.torch
def test_a_named_file_of_curves_bends_the_ratings(tiny_models: Path, tmp_path: Path) -> None:
    curves = tmp_path / "curves.json"
    half = {"x": [0.0, 1.0], "y": [0.0, 0.5]}
    content = {"format": "merilo-calibration/1", "name": "half", "provenance": "a test"}
    curves.write_text(json.dumps({**content, "curves": dict.fromkeys(PARTS, half)}))
    plain = Classifiers(tiny_models).rate(TOXIC, POLITE)
    bent = Classifiers(tiny_models, curves).rate(TOXIC, POLITE)
    assert bent.sta == pytest.approx(plain.sta / 2)
    assert j_scores(bent)["j"].value == pytest.approx(j_scores(plain)["j"].value / 8)


@pytest.mark.torch
def test_a_text_beyond_512_tokens_is_cut(tiny_models: Path) -> None:
    classifier = Classifier(str(tiny_models / "fl"), 1)
    long = " ".join(POLITE * 200)
    longer = long + " дурак" * 1000
    found = classifier.probabilities([long, longer])
    assert found[0] == pytest.approx(found[1], abs=1e-6)


@pytest.mark.torch
def test_an_unknown_class_is_named(tiny_models: Path) -> None:
    with pytest.raises(InputError, match=r"has no class 'kind' \(it has neutral, toxic\)"):
        Classifier(str(tiny_models / "sta"), "kind")


def test_folders_without_models_are_one_sentence_with_and_without_the_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse_both() -> None:
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        with pytest.raises(InputError, match="expected one folder for each"):
            Classifiers(folder)
        for part in PARTS:
            (folder / part).mkdir()
        with pytest.raises(InputError, match=r"sta: is not a model folder .*: config\.json is missing"):
            Classifiers(folder)
        with pytest.raises(InputError, match=r"curves\.json"):
            Classifiers(curves=folder / "curves.json")

    refuse_both()
    monkeypatch.setattr(classifiers, "find_spec", lambda name: None)
    refuse_both()
    with pytest.raises(MissingPartError, match="J needs the extra 'hf'"):
        Classifiers()


@pytest.mark.torch
def test_a_model_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    for part in PARTS:
        (tmp_path / part).mkdir()
        (tmp_path / part / "config.json").write_text("{}")
    with pytest.raises(MissingPartError, match="cannot be loaded"):
        Classifiers(tmp_path)

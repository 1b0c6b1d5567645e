"""Custom datasets are declared in a YAML file."""

import os
from pathlib import Path

import pytest

from merilo.datasets import Answer, Dataset, HumanFigure, Shots, dataset
from merilo.errors import InputError

CITIES = """
name: cities
title: Cities
fields: [question, picture, option_a, option_b]
media: [picture]
answer: {kind: choice, labels: [A, B]}
metrics: [acc]
extra: acc.{country}
shots: {count: 2, same: country}
skills: [Common domain knowledge]
human:
  - {metric: acc, value: 0.91, n: 120, provenance: measured, source: "Our study, spring"}
prompts:
  - "Вопрос: {question} <picture>"
"""


def test_a_declaration_is_read_from_the_file_or_its_folder(tmp_path: Path) -> None:
    file = tmp_path / "dataset.yaml"
    file.write_text(CITIES, encoding="utf-8")
    expected = Dataset(
        name="cities",
        title="Cities",
        fields=("question", "picture", "option_a", "option_b"),
        media=("picture",),
        answer=Answer(kind="choice", labels=("A", "B")),
        metrics=("acc",),
        extra="acc.{country}",
        shots=Shots(count=2, same="country"),
        skills=("Common domain knowledge",),
        human=(
            HumanFigure(metric="acc", value=0.91, n=120, provenance="measured", source="Our study, spring"),
        ),
        prompts={"": ("Вопрос: {question} <picture>",)},
    )
    assert dataset(str(file)) == dataset(str(tmp_path)) == expected


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "is not a declaration"),
        ("- a\n- b", "is not a declaration"),
        ("a: [", "is not YAML"),
        ("a: &a [1]\nb: *a", "aliases"),
        ("!!python/object/apply:os.getcwd []", "is not YAML"),
        ("when: 2020-99-99", "is not YAML"),
        (CITIES.replace("name: cities\n", ""), "name: is missing"),
        (CITIES.replace("name: cities", "name: ../cities"), "the name names files: it must have no '/'"),
        (CITIES.replace("fields:", "felds:"), "felds: is not a field of this declaration"),
        (CITIES.replace("[acc]", "[accuracy]"), "there is no metric 'accuracy'"),
        (CITIES.replace("[acc]", "[acc, j]"), "the metric 'j' does not fit answers of kind 'choice'"),
        (CITIES.replace("[acc]", "['pass@1']"), "the metric 'pass@1' does not fit answers of kind 'choice'"),
        (CITIES.replace("[A, B]", "[1, 2]"), r"answer.labels.0: must be a text \(put it in quotes\)"),
        (CITIES.replace("kind: choice", "kind: guess"), "answer.kind: must be 'choice', 'integer'"),
        (CITIES.replace("media: [picture]", "media: [film]"), "'film' is not among the fields"),
        (CITIES.replace("measured", "guessed"), "human.0.provenance: must be 'measured'"),
        (CITIES.replace("[A, B]", "[A]"), "two labels"),
        (CITIES.replace("count: 2", "count: many"), "shots.count: must be a whole number"),
        (CITIES.replace("0.91", "high"), "human.0.value: must be a number"),
        (CITIES.replace('  - "Вопрос', '  - 5\n  - "Вопрос'), "must be a text"),
        (CITIES.replace("human:\n  - ", "human:\n    "), "human: must be a list"),
        ("title: 5\nanswer: {kind: integer}\nmetrics: [em]", "name: is missing; title: must be a text"),
    ],
)
def test_what_is_wrong_is_said_with_its_field(tmp_path: Path, text: str, fault: str) -> None:
    file = tmp_path / "dataset.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=fault) as caught:
        dataset(str(file))
    assert str(file) in str(caught.value)
    words_of_pydantic = ("Value error", "Input should", "Field required", "instance of")
    assert not any(words in str(caught.value) for words in words_of_pydantic)


def test_a_pipe_in_place_of_a_declaration_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "own.yaml")
    with pytest.raises(InputError, match="is a pipe or a device"):
        dataset(str(tmp_path / "own.yaml"))

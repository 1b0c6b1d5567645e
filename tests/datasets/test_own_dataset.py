"""One's own dataset: `merilo datasets new` understands the shapes of public benchmarks, and every command its result."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from study_people import of_kind
from tests.support.benchmark_shapes import SHAPES, write, write_pictures
from tests.support.command import Outcome, merilo

from merilo.datasets.custom import read_declaration
from merilo.datasets.own_items import read_splits
from merilo.models.asking import ModelReply
from merilo.models.prompter import Prompter
from merilo.models.reply_answers import extract
from merilo.settings import RunSettings
from merilo.studies.creation import create_studies

CYRILLIC = re.compile("[\u0400-\u04ff]")


def done(*words: object) -> Outcome:
    outcome = merilo(*words)
    assert outcome.status == 0, outcome.err + outcome.out
    return outcome


def declared(folder: Path, name: str, *options: object) -> tuple[Path, Any]:
    """Write a shape's file; return it with what `datasets new` says of it."""
    shape = SHAPES[name]
    file = write(folder / f"{name}.{shape.suffix}", shape.rows)
    write_pictures(folder)
    return file, done("datasets", "new", file, *options, "--json", "-").json


@pytest.mark.parametrize("name", SHAPES)
def test_a_benchmark_of_this_shape_walks_the_whole_road(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shape = SHAPES[name]
    file, made = declared(tmp_path, name)
    before = file.read_bytes()
    dataset = made["dataset"]
    yaml = tmp_path / f"{name}.yaml"
    assert (made["items"], made["language"], dataset["answer"]["kind"]) == (len(shape.rows), "en", shape.kind)
    understood = dataset["items"]["id"], dataset["items"]["gold_is"], dataset["cluster"]
    assert understood == (shape.id, shape.gold_is, shape.cluster)
    assert shape.group is None or dataset["extra"] == shape.group

    done("datasets", "validate", yaml)
    done("datasets", "show", yaml)
    done("study", "create", yaml, "--out", "study", "--size", 20)
    first = json.loads((tmp_path / "study" / "items.jsonl").read_text("utf-8").splitlines()[0])
    assert "Answer" in first["prompt"]
    assert not list((tmp_path / "study").glob("*.ru.md"))
    assert not CYRILLIC.search((tmp_path / "study" / "study.yaml").read_text("utf-8"))
    done("study", "validate", "study")
    done("run", "--model", "random", "--datasets", yaml, "--out", "run")

    gold = {str(item["id"]): item for item in items_of(file, yaml)}
    first_item = next(iter(gold.values()))
    assert shape.gold in {"", first_item["gold"]}
    assert shape.says in first_item["prompt"]

    people = ["id,annotator,answer"]
    for person in range(5):
        for number, (identity, item) in enumerate(gold.items()):
            answer = item["one"] if (number + person) % 7 else item["wrong"]
            people.append(f'{identity},p{person},"{answer}"')
    (tmp_path / "answers.csv").write_text("\n".join(people), encoding="utf-8")
    result = done("baseline", "answers.csv", "--dataset", yaml, "--out", "baseline", "--json", "-").json
    metric = dataset["metrics"][0]
    assert result["metrics"][metric]["value"] == 1.0
    assert result["metrics"][metric]["n"] == len(shape.rows)
    sheet = ["id,answer", *(f'{identity},"{item["one"]}"' for identity, item in gold.items())]
    (tmp_path / "model.csv").write_text("\n".join(sheet), encoding="utf-8")
    scored = done("score", "model.csv", "--dataset", yaml, "--json", "-").json
    assert scored["metrics"][metric]["value"] == 1.0
    compared = done("compare", "baseline", "run", "--json", "-").json
    assert compared
    assert file.read_bytes() == before


def test_people_choose_among_the_options_that_an_item_has(tmp_path: Path) -> None:
    declared(tmp_path, "arc")
    created = create_studies(tmp_path / "arc.yaml", tmp_path / "study")[""]
    tasks = of_kind(created.folder, "test")
    assert {(len(one.labels), len(one.options)) for one in tasks} == {(3, 3), (4, 4)}
    assert created.folder.plan.languages == ("en",)
    instruction = (tmp_path / "study" / "instruction.en.md").read_text("utf-8")
    assert (
        "Choose one of the answers that the task lists, from these: **A**, **B**, **C**, **D**."
        in instruction
    )


#: Items of two, three and four options, and solved ones.
OPTIONS = ["red", "green", "blue", "black"]
ASKED = [
    {"qid": f"q{n}", "question": f"Which colour is number {n}?", "options": OPTIONS[:n], "correct": "B"}
    for n in (4, 3, 2)
]
SOLVED = [{**row, "qid": f"s{row['qid']}", "question": f"{row['question']} Really?"} for row in ASKED]


@pytest.fixture
def colours(tmp_path: Path) -> tuple[Any, Any, Path]:
    """A dataset whose items have unlike numbers of options: its declaration, its splits, the declaration's file."""
    for name, rows in (("colours", ASKED), ("solved", SOLVED)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    yaml = tmp_path / "colours.yaml"
    done("datasets", "new", tmp_path / "colours.jsonl", "--shots", tmp_path / "solved.jsonl", "--out", yaml)
    dataset = read_declaration(yaml)
    return dataset, read_splits(tmp_path / "colours.jsonl", dataset), yaml


@pytest.mark.parametrize("shots", [0, 1, 3])
def test_a_model_is_offered_only_the_options_that_an_item_has(
    colours: tuple[Any, Any, Path], shots: int
) -> None:
    declared, splits, _ = colours
    for chat in (False, True):
        likely = Prompter(declared, splits["shots"].items, RunSettings(shots=shots), chat=chat)
        for item, count in zip(splits["test"].items, (4, 3, 2), strict=True):
            labels = ["A", "B", "C", "D"][:count]
            request = likely.request(item)
            question = request.prompt.split("\n\nWhich colour")[-1]
            assert re.findall(r"^([A-D])\. ", question, re.MULTILINE) == labels
            # The last instruction before the answer names these labels and no other ones.
            named = re.findall(r"Answer with one letter, (.*)\.", request.prompt)[-1]
            assert re.findall("[A-D]", named) == labels
            if not chat:
                assert [choice.strip() for choice in request.choices] == labels


def test_a_label_that_an_item_does_not_offer_is_no_answer_to_it(colours: tuple[Any, Any, Path]) -> None:
    declared, splits, _ = colours
    four, three, _ = splits["test"].items
    texts = ("D", "The answer is D.", "B")
    read = [[extract(declared, one, ModelReply(text=text)).answer for text in texts] for one in (four, three)]
    assert read == [["D", "D", "B"], [None, None, "B"]]
    assert extract(declared, three, ModelReply(loglikelihoods=(-3.0, -1.0, -2.0))).answer == "B"


def test_the_built_in_respondents_choose_among_the_options_of_an_item(
    colours: tuple[Any, Any, Path], tmp_path: Path
) -> None:
    for name in ("random", "most-frequent", "longest"):
        for mode in ("generate", "loglikelihood"):
            run = tmp_path / f"{name}-{mode}"
            done("run", "--model", name, "--mode", mode, "--shots", 0, "--datasets", colours[2], "--out", run)
            rows = [json.loads(line) for line in (run / "colours.jsonl").read_text("utf-8").splitlines()]
            for row, count in zip(rows, (4, 3, 2), strict=True):
                assert row["answer"] in {*"ABCD"[:count]}
                assert row["outcome"] == "answered"


def test_pictures_of_a_file_elsewhere_are_found_by_every_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_pictures(tmp_path)
    write(tmp_path / "hle.jsonl", SHAPES["hle"].rows)
    done("datasets", "new", "hle.jsonl", "--out", "declared")
    done("datasets", "validate", "declared")
    assert len(list((tmp_path / "samples").iterdir())) == 8


def items_of(file: Path, yaml: Path) -> list[dict[str, Any]]:
    from merilo.datasets import dataset
    from merilo.datasets.own_items import read_split
    from merilo.datasets.rendering import render

    known = dataset(str(yaml))
    found = []
    for item in read_split(file, known):
        gold = str(item.outputs)
        one = gold.split(known.answer.alternatives, maxsplit=1)[0] if known.answer.alternatives else gold
        labels = known.answer.labels
        wrong = next(label for label in labels if label != one) if labels else "999999999"
        found.append({"id": item.id, "gold": gold, "one": one, "wrong": wrong, "prompt": render(item, known)})
    return found


#: Rows of questions, and what is guessed of their options and answers and said of the rest.
GUESSED = [
    ([{"question": f"Which {n}?", "A": "x", "B": "y", "C": "z", "answer": "ABC"[n % 3], "editor": f"e{n}"} for n in range(6)], ["A", "B", "C"], "A, B, C", "not used: editor"),
    ([{"question": f"Which {n}?\nA) x\nB) y", "answer": "ABE"[n % 3]} for n in range(6)], [*"ABCDE"], "none", "the gold answers are letters: A to E are the options"),
    ([{"question": f"Capital {n}?", "answer": f"Paris|City {n}"} for n in range(6)], [], "none", "items are numbered from 1"),
    ([{"question": f"Capital {n}?", "answer": f"Paris|City {n}"} for n in range(6)], [], "none", "such as Paris|City 0 count as one answer"),
    ([{"question": f"Какой {n}?", "А": "x", "Б": "y", "В": "z", "answer": "АБВ"[n % 3]} for n in range(6)], ["A", "B", "C"], "А, Б, В", "items are numbered from 1"),
    ([{"question": f"Which {n}?\nA) x\nB) y\nC) z", "answer": "B"} for n in range(6)], [*"ABC"], "none", "A to C are the options"),
    ([{"question": f"Какой {n}?\nА. x\nБ. y\nВ. z", "answer": "АБ"[n % 2]} for n in range(6)], [*"АБВ"], "none", "А to В are the options"),
    ([{"question": f"Which {n}?\nA) red\nB) blue", "answer": "red"} for n in range(6)], [], "none", "list options A to B, but the gold answers are no letters"),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "labels", "options", "says"), GUESSED)
def test_options_are_found_or_said_to_stand_in_the_text(
    rows: list[dict[str, str]], labels: list[str], options: str, says: str, tmp_path: Path
) -> None:
    write(tmp_path / "q.jsonl", rows)
    new = done("datasets", "new", tmp_path / "q.jsonl")
    answer = read_declaration(tmp_path / "q.yaml").answer
    assert ([*answer.labels], answer.alternatives) == (labels, None)
    assert re.search(rf"options +{options} ", new.out)
    assert says in new.err


BAD = [
    ("q.jsonl", [{"question": "?", "choices": ["a", "b"], "answer": 3}], (), "q.jsonl, row 1, answer: the gold answer 3 names none"),
    ("q.jsonl", [{"question": "?", "choices": ["a", "b", "c"], "answer": 1}], (), "say which with --gold-is FORM"),
    ("q.jsonl", [{"question": "?", "choices": ["a", "b"], "answer": "A"}], ("--gold-is", "from-0"), "names none of the options 'a', 'b' (gold_is: from-0); name another column with --gold COLUMN or a form with --gold-is FORM"),
    ("q.jsonl", [{"frage": "?", "answer": "A"}], (), "name it with --question COLUMN (choose from: frage, answer)"),
    ("q.jsonl", [{"question": "?"}], (), "name it with --gold COLUMN, or give --gold none"),
    ("q.jsonl", [{"question": "?"}], ("--gold", "none"), "give --answer text or --answer integer"),
    ("q.jsonl", [{"question": "?", "answer": "A"}], ("--id", "nr"), "there is no column 'nr'"),
    ("q.jsonl", [{"question": "?", "answer": "A"}], ("--answer", "choice"), "name their columns with --options COLUMN"),
    ("q.jsonl", [{"question": "?", "answer": "A"}], ("--answer", "integer"), "row 1, answer: the gold answer A is not a whole number"),
    ("q.jsonl", [{"question": "?", "answer": "A", "image": "no.png"}], (), "row 1, image: names a file that does not exist"),
    ("q.jsonl", [{"instruction": 0, "inputs": "?", "outputs": "", "meta": {"id": 1}}], (), "in the benchmark's format already"),
    ("q.jsonl", [{"id": n % 3, "question": "?", "answer": "A"} for n in range(6)], ("--id", "id"), "row 4: has the id 0 of row 1"),
    ("q.jsonl", [{"question": "?", "answer": "A", "target": "B"}], (), "answer, target may hold the gold answers: say which with --gold"),
    ("q.json", [], (), "has no rows"),
    ("q.xlsx", None, (), "there is no such file"),
    ("absent.csv", None, (), "absent.csv: there is no such file"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "rows", "options", "says"), BAD)
def test_what_cannot_be_guessed_or_read_is_told_in_one_sentence(
    file: str, rows: Any, options: tuple[str, ...], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if rows is not None:
        write(tmp_path / file, rows)
    outcome = merilo("datasets", "new", file, *options)
    assert outcome.status == 2, outcome.out
    assert says in outcome.complaint
    assert sorted(path.name for path in tmp_path.iterdir()) == ([] if rows is None else [file])

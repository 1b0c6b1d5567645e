"""One's own dataset: `merilo datasets new` understands the shapes of public benchmarks, and every command its result."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest
from small_media import png
from study_people import of_kind
from tests.support.command import Outcome, merilo

from merilo.datasets.custom import read_declaration
from merilo.datasets.dataset_files import read_split, read_splits
from merilo.datasets.rendering import render
from merilo.models.asking import ModelReply
from merilo.models.prompter import Prompter
from merilo.models.reply_answers import read_reply
from merilo.settings import RunSettings
from merilo.studies.creation import create_studies


def sums(n: int, count: int = 4) -> list[str]:
    """Options of the question what n plus n is; the right one is at n modulo the count."""
    return [f"{2 * n + place - n % count} apples" for place in range(count)]


class Shape(NamedTuple):
    """A benchmark's shape, as its card describes it, and what is to be understood of it."""

    file: str
    row: Callable[[int], dict[str, Any]]
    gold: str
    says: str
    id: str | None = None
    kind: str = "choice"
    gold_is: str | None = None
    group: str | None = None
    cluster: str | None = None


SHAPES = (
    Shape("mmlu.parquet", lambda n: {"question": f"Twice {n} apples are", "subject": ["fruit counting", "orchards"][n % 2],
          "choices": sums(n), "answer": n % 4}, "A",
          "Twice 0 apples are\n\nA. 0 apples\nB. 1 apples\nC. 2 apples\nD. 3 apples\n\nAnswer with one letter, A, B, C or D.\nAnswer:",
          gold_is="from-0", group="acc.{subject}"),
    Shape("arc.jsonl", lambda n: {"id": f"AP_{n}", "question": f"What are twice {n} apples?",
          "choices": {"text": sums(n, 3 + n % 2), "label": list("ABCD" if n % 5 else "1234")[: 3 + n % 2]},
          "answerKey": ("ABCD" if n % 5 else "1234")[n % (3 + n % 2)]}, "A",
          "C. 2 apples\n\nAnswer with one letter, A, B or C.", "id", gold_is="label"),
    Shape("hellaswag.json", lambda n: {"ind": 10 + n, "activity_label": ["Picking apples", "Baking"][n % 2],
          "ctx_a": f"A man picks {n} apples.", "ctx_b": "he", "ctx": f"A man picks {n} apples. he",
          "endings": [f"puts {option} into a basket." for option in sums(n)], "source_id": f"film~{n // 2}",
          "split_type": "indomain", "label": str(n % 4)}, "A",
          "A man picks 0 apples. he\n\nA. puts 0 apples into a basket.", "ind", gold_is="from-0", cluster="source_id"),
    Shape("gsm8k.jsonl", lambda n: {"question": f"Anna has {n} baskets of 1000 apples and one apple. How many has she?",
          "answer": f"She has {n}*1000 = <<{n}*1000={n * 1000}>>{n * 1000} apples.\n#### {n * 1000 + 1:,}"}, "1",
          "How many has she?\n\nAnswer with a whole number in digits.", kind="integer"),
    Shape("triviaqa.jsonl", lambda n: {"question": f"Who planted tree number {n}?", "question_id": f"tq_{n}",
          "answer": {"aliases": [f"John {n} Appleseed", f"Appleseed; {n}"], "normalized_aliases": [f"john {n} appleseed"],
                     "value": f"Johnny {n}", "type": "FreeForm"}}, "Johnny 0|John 0 Appleseed|Appleseed; 0",
          "Who planted tree number 0?\n\nAnswer briefly", "question_id", "text"),
    Shape("boolq.jsonl", lambda n: {"question": f"are there more than {n} apples in the basket",
          "passage": f"Basket {n // 2} of the market holds twelve apples.", "answer": n < 12}, "yes",
          "holds twelve apples.\nare there more than 0 apples in the basket\n\nAnswer with one of these: yes or no.",
          cluster="passage"),
    Shape("hle.jsonl", lambda n: {"id": f"66e{n:03}", "question": f"Which apple is the {n}th of the orchard?",
          "image": "" if n % 3 else f"{n}.png", "image_preview": None, "answer": f"Apple of row {n}" if n % 2 else "C",
          "answer_type": "exactMatch" if n % 2 else "multipleChoice", "author_name": "A. Gardener",
          "rationale": f"The {n}th apple hangs in row {n}.", "raw_subject": ["Botany", "Geometry"][n % 2],
          "category": ["Biology", "Math"][n % 2], "canary": "ours"}, "C",
          "<image>\nWhich apple is the 0th of the orchard?", "id", "text", group="em.{category}"),
    Shape("squad.csv", lambda n: {"id": f"56be{n:04}", "title": ["Apple", "Pear"][n % 2],
          "context": f"Orchard {n // 3} was planted in 18{n // 3:02} by Mary.",
          "question": f"Question {n}: when was orchard {n // 3} planted?",
          "answers": json.dumps({"text": [f"18{n // 3:02}", f"in 18{n // 3:02}"], "answer_start": [24, 21]})},
          "1800;in 1800", "by Mary.\nQuestion 0: when was orchard 0 planted?", "id", "text", cluster="context"),
    Shape("medmcqa.csv", lambda n: {"id": f"m{n}", "question": f"Twice {n} apples are",
          **dict(zip(("opa", "opb", "opc", "opd"), sums(n), strict=True)), "cop": str(n % 4 + 1), "subject_name": "Fruit"},
          "A", "B. 1 apples", "id", gold_is="from-1"),
    Shape("gpqa.csv", lambda n: {"Question": f"Twice {n} apples are", "Correct Answer": f"{2 * n} apples",
          **{f"Incorrect Answer {k}": f"{2 * n + k} apples" for k in (1, 2, 3)},
          "High-level domain": ["Biology", "Physics"][n % 2]}, "", "Twice 0 apples are\n\nA. ", gold_is="text"),
)  # fmt: skip


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write rows in the format that the name says."""
    match path.suffix:
        case ".jsonl":
            path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        case ".json":
            path.write_text(json.dumps(rows), encoding="utf-8")
        case ".csv":
            pl.DataFrame(rows).write_csv(path)
        case _:
            pl.DataFrame(rows).write_parquet(path)
    return path


def done(*words: object) -> Outcome:
    outcome = merilo(*words)
    assert outcome.status == 0, outcome.err + outcome.out
    return outcome


def written(folder: Path, name: str) -> Path:
    """Write the 24 rows of a shape, and the pictures that they name."""
    shape = next(shape for shape in SHAPES if shape.file.startswith(name))
    (folder / "samples").mkdir()
    for n in range(0, 24, 3):
        (folder / "samples" / f"{n}.png").write_bytes(png(colour=(n, 90, 40)))
    return write(folder / shape.file, [shape.row(n) for n in range(24)])


@pytest.mark.parametrize("shape", SHAPES, ids=[shape.file for shape in SHAPES])
def test_the_file_of_a_public_benchmark_needs_no_option(shape: Shape, tmp_path: Path) -> None:
    file = written(tmp_path, shape.file)
    before = file.read_bytes()
    made = done("datasets", "new", file, "--json", "-").json
    dataset, columns = made["dataset"], made["dataset"]["items"]
    assert (made["items"], made["language"], dataset["answer"]["kind"]) == (24, "en", shape.kind)
    assert (columns["id"], columns["gold_is"], dataset["cluster"]) == (shape.id, shape.gold_is, shape.cluster)
    assert shape.group in {None, dataset["extra"]}
    declared = read_declaration(file.with_suffix(".yaml"))
    first, *_ = items = read_split(file, declared).items
    assert shape.says in render(first, declared)
    assert shape.gold in {"", first.outputs}
    sheet = ["id,answer"]
    for item in items:
        gold = str(item.outputs).split(declared.answer.alternatives or "\0", maxsplit=1)[0]
        sheet.append(f'{item.id},"{gold}"')
    (tmp_path / "model.csv").write_text("\n".join(sheet), encoding="utf-8")
    done("datasets", "validate", file.with_suffix(".yaml"))
    scored = done("score", tmp_path / "model.csv", "--dataset", file.with_suffix(".yaml"), "--json", "-").json
    assert scored["metrics"][dataset["metrics"][0]]["value"] == 1.0
    assert file.read_bytes() == before


def test_people_choose_among_the_options_that_an_item_has(tmp_path: Path) -> None:
    done("datasets", "new", written(tmp_path, "arc"))
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
    read = [
        [read_reply(declared, one, ModelReply(text=text)).answer for text in texts] for one in (four, three)
    ]
    assert read == [["D", "D", "B"], [None, None, "B"]]
    assert read_reply(declared, three, ModelReply(loglikelihoods=(-3.0, -1.0, -2.0))).answer == "B"


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
    written(tmp_path, "hle")
    done("datasets", "new", "hle.jsonl", "--out", "declared")
    done("datasets", "validate", "declared")
    assert len(list((tmp_path / "samples").iterdir())) == 8


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
    ([{"№": n, "Вопрос": f"Какой {n}?", **{f"Вариант {x}": x * 2 for x in "АБВ"}, "Правильный ответ": "АБВ"[n % 3]} for n in range(6)], ["A", "B", "C"], "Вариант А, Вариант Б, Вариант В", "id №"),
    ([{"Номер": n, "Текст вопроса": f"Какой {n}?", "1": "да", "2": "нет", "3": "оба", "Ответ": n % 3 + 1} for n in range(6)], ["A", "B", "C"], "1, 2, 3", "id Номер"),
    ([{"question": f"Which {n}?", "options": "red; green | blue; black" if n else "red|green", "answer": "AB"[n % 2]} for n in range(6)], ["A", "B"], "options", "B. blue; black"),
    ([{"question": f"Which {n}?" * (n != 4), "A": "x", "B": "x" if n > 3 else "y", "answer": "AB"[n % 2]} for n in range(6)], ["A", "B"], "A, B", "item 5: option_b is the same as option A: 'x' (and 1 more like this"),
    ([{"question": f"Which {n}?" * (n != 4), "answer": "A" * (n + 1)} for n in range(6)], [], "none", "item 5: question is empty, so there is no question"),
    ([{"id": n % 5, "question": f"Capital {n}?", "answer": f"City {n}"} for n in range(6)], [], "none", "the column id does not identify them: rows 1 and 6 both have 0"),
    ([{"id": "", "question": f"Capital {n}?", "answer": f"City {n}"} for n in range(6)], [], "none", "the column id does not identify them: row 1 has no id"),
    ([{"question": f"Warm {n}?", "answer": ["yes", "no", "no"][n % 3] if n else "perhaps"} for n in range(9)], [], "none", "items are numbered"),
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
    assert re.search("skills +Common domain knowledge: any adult", new.out)
    assert says in " ".join(new.out.split())
    wrong = merilo("datasets", "validate", tmp_path / "q.yaml")
    assert wrong.status == ("item 5" in says), wrong.out


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
    *(
        ("q.jsonl", [{"question": f"Number {n}?", **options, "answer": wrong if n == 7 else right[n % len(right)]} for n in range(24)], (), says)
        for options, right, wrong, says in (
            ({}, ["yes", "no"], "yse", "row 8, answer: the gold answer yse is not one of no, yes, unlike those of other rows; correct it, or give --answer choice"),
            ({}, ["true", "false"], "treu", "row 8, answer: the gold answer treu is not one of yes, no"),
            ({}, ["A", "B"], "A?", "row 8, answer: the gold answer A? is not one of A, B"),
            ({}, [*range(24)], "8 apples", "row 8, answer: the gold answer 8 apples is not a whole number, unlike those of other rows; correct it, or give --answer text"),
            ({"A": "x", "B": "y"}, ["A", "B"], "C", "row 8, answer: the gold answer C names none of the options 'x', 'y' (gold_is: letter), unlike those of other rows; correct it"),
        )
    ),
    ("q.jsonl", [{"question": f"{n}?", "A": "x", "B": "y", "C": "z", "answer": "В" if n == 2 else "AB"[n % 2]} for n in range(6)], (), "row 3, answer: the gold answer В is a Cyrillic letter, unlike those of other rows; correct it"),
    ("q.jsonl", [{"question": "?", "option_a": "x", "option_b": "" if n else "y", "answer": "x"} for n in range(2)], (), "option_a, option_b may hold options, which do not stand in every row: name their columns with --options COLUMN, or give --options none"),
    ("q.csv", "id,question,answer\n1,Тепло?,да\n".encode("cp1251"), (), "q.csv, row 2: is not UTF-8 text (byte 0xd2); it may be Windows-1251: save it as UTF-8 (in Excel"),
    ("q.json", [], (), "has no rows"),
    ("q.xlsx", None, (), "there is no such file"),
    ("absent.csv", None, (), "absent.csv: there is no such file"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "rows", "options", "says"), BAD)
def test_what_cannot_be_guessed_or_read_is_told_in_one_sentence(
    file: str, rows: Any, options: tuple[str, ...], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if isinstance(rows, bytes):
        (tmp_path / file).write_bytes(rows)
    elif rows is not None:
        write(tmp_path / file, rows)
    outcome = merilo("datasets", "new", file, *options)
    assert outcome.status == 2, outcome.out
    assert says in outcome.complaint
    assert "reading" not in outcome.complaint
    assert sorted(path.name for path in tmp_path.iterdir()) == ([] if rows is None else [file])

"""Recipes: three projects that filter items, three pools with fifteen coefficients, and two conditions that are compared."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import matthews_corrcoef

import merilo
from merilo.baselines.recipes import names, read_recipe, recipe, text_of
from merilo.baselines.recipes.running import run_recipe
from merilo.cli import main
from merilo.datasets import dataset
from merilo.errors import DataError, InputError, UsageError
from merilo.items import read_split
from merilo.metrics import scoring
from merilo.metrics.detox import Ratings


def toloka(
    path: Path, fields: list[str], rows: list[tuple[list[str], str, str, str]], answer: str = "result"
) -> Path:
    """A Toloka export from (inputs, annotator, answer, control)."""
    with path.open("w", encoding="utf-8", newline="") as lines:
        table = csv.writer(lines, delimiter="\t")
        table.writerow(
            [*(f"INPUT:{name}" for name in fields), f"OUTPUT:{answer}", f"GOLDEN:{answer}", "ASSIGNMENT:assignment_id",
             "ASSIGNMENT:worker_id", "ASSIGNMENT:status", "ASSIGNMENT:started", "ASSIGNMENT:submitted",
             "ASSIGNMENT:reward"]
        )  # fmt: skip
        for place, (inputs, who, given, control) in enumerate(rows):
            table.writerow(
                [*inputs, given, control, f"page{place}", who, "APPROVED", "2026-01-01T10:00:00",
                 "2026-01-01T10:00:30", "0.01"]
            )  # fmt: skip
    return path


PAIRS = [(f"toxic {n}", f"neutral {n}") for n in range(12)]

#: What the majority says of pair n: meaning, fluent, inoffensive.
VERDICTS = [(n % 2 == 0, n % 3 != 1, n != 6) for n in range(12)]


#: Question -> its column of answers, the answer that accepts, another one, and the fields that people saw.
PROJECTS = {
    "meaning": ("is_match", "true", "false", ["toxic_comment", "neutral_comment"]),
    "fluent": ("fluent", "fluent", "partly", ["neutral_comment"]),
    "inoffensive": ("toxic", "false", "true", ["neutral_comment"]),
}


@pytest.fixture
def detox(tmp_path: Path) -> dict[str, list[Path]]:
    """Three projects as published: three annotators agree, two give another answer, and a sixth fails the controls."""
    exports = {}
    for place, (name, (column, accepting, other, fields)) in enumerate(PROJECTS.items()):
        rows = []
        for n, pair in enumerate(PAIRS):
            truth, wrong = (accepting, other) if VERDICTS[n][place] else (other, accepting)
            # The platform's row number differs from page to page, and is not part of the item.
            for page, who in enumerate(("ann", "bob", "cat", "dan", "eve", "spam")):
                shown = [str(100 * page + n), *pair[2 - len(fields) :]]
                rows.append((shown, who, truth if who < "d" else wrong, ""))
        rows += [
            (["13", *(f"control {field}" for field in fields)], who, other if who == "spam" else accepting, accepting)
            for who in ("ann", "bob", "cat", "dan", "eve", "spam")
        ]  # fmt: skip
        exports[name] = [toloka(tmp_path / f"{name}.tsv", ["idx", *fields], rows, column)]
    return exports


PUBLISHED = {
    "meaning": ("assignments_from_pool_41793355__21-10-2023.tsv", 172, 37, 789),
    "fluent": ("assignments_from_pool_41793535__21-10-2023.tsv", 372, 201, 561),
    "inoffensive": ("assignments_from_pool_41793133__17-10-2023.tsv", 341, 158, 698),
}


def test_the_published_files_keep_the_published_number_of_pairs(pools: Path) -> None:
    folder = pools / "rudetox"
    if not folder.is_dir():
        pytest.skip(f"the pools of ruDetox are not here ({folder})")
    result = run_recipe(recipe("rudetox"), {name: [folder / file] for name, (file, *_) in PUBLISHED.items()})
    found = {
        name: (
            PUBLISHED[name][0],
            made.annotators.filter(made.annotators["controls"] > 0).height,
            int(made.annotators["excluded"].sum()),
            800 - result.table[name].null_count(),
        )
        for name, made in result.questions.items()
    }
    assert found == PUBLISHED
    assert result.table.height == 800
    assert result.table["kept"].sum() == 404
    with (folder / "dataset.csv").open(encoding="utf-8", newline="") as lines:
        pairs = {
            (" ".join(row["inputs"].split()), " ".join(row["outputs"].split()))
            for row in csv.DictReader(lines)
        }
    assert pairs == set(result.table.select("toxic_comment", "neutral_comment").iter_rows())


class FixedRater:
    """Rate a pair by the number in its text."""

    making = {"models": "none"}  # noqa: RUF012 - never changed

    def rate(self, toxic: list[str], rewritten: list[str]) -> Ratings:
        number = np.array([int(text.split()[-1]) for text in rewritten], dtype=float)
        assert [text.split()[-1] for text in toxic] == [text.split()[-1] for text in rewritten]
        return Ratings(number / 10, np.full(len(number), 0.5), np.ones(len(number)))


def test_pairs_that_all_three_projects_accept_are_kept(detox: dict[str, list[Path]]) -> None:
    result = run_recipe(recipe("rudetox"), detox)
    kept = result.table.filter("kept")["neutral_comment"].to_list()
    assert kept == [f"neutral {n}" for n in range(12) if all(VERDICTS[n])]
    assert all(made.annotators["excluded"].sum() == 1 for made in result.questions.values())


def test_the_library_runs_a_recipe_as_the_command_to_the_byte(
    detox: dict[str, list[Path]], tmp_path: Path
) -> None:
    words = [word for name, (path,) in detox.items() for word in ("--files", f"{name}={path}")]
    assert main(["recipe", "run", "rudetox", *words, "--out", str(tmp_path / "command")]) == 0
    made = merilo.run_recipe("rudetox", {name: path for name, (path,) in detox.items()})
    content = made.save(tmp_path / "library")
    for name in ("recipe.json", "items.csv"):
        assert (tmp_path / "library" / name).read_bytes() == (tmp_path / "command" / name).read_bytes()
    assert content["provenance"]["command"].startswith("merilo recipe run rudetox --files meaning=")
    assert content["kept"] == {
        "items": 3, "refused": 9, "undecided": 0, "accepted_by": {"meaning": 6, "fluent": 8, "inoffensive": 11}
    }  # fmt: skip
    assert main(["recipe", "run", "rudetox", *words, "--out", str(tmp_path / "command")]) == 2  # --out exists
    assert "J of the 3 kept pairs" in made.left_undone[0]
    rated = merilo.run_recipe("rudetox", detox, rudetox_models=FixedRater())
    assert list(rated.scores) == ["j", "sta", "sim", "fl"]
    assert rated.to_dict()["provenance"]["parameters"]["rating"] == {"models": "none"}


def test_j_is_taken_on_the_kept_pairs_alone(detox: dict[str, list[Path]]) -> None:
    result = run_recipe(recipe("rudetox"), detox, rater=FixedRater())
    numbers = [n for n in range(12) if all(VERDICTS[n])]
    assert result.scores["j"].n == len(numbers)
    assert list(result.scores) == ["j", "sta", "sim", "fl"]
    assert result.scores["j"].value == pytest.approx(np.mean([n / 10 * 0.5 for n in numbers]))
    assert result.left_undone == ()


def test_a_pair_that_a_question_left_undecided_is_neither_kept_nor_refused(
    detox: dict[str, list[Path]], tmp_path: Path
) -> None:
    rows = [([f"neutral {n}"], who, "fluent", "") for n in range(1, 12) for who in ("ann", "bob", "cat")]
    detox["fluent"] = [toloka(tmp_path / "part.tsv", ["neutral_comment"], rows, "fluent")]
    table = run_recipe(recipe("rudetox"), detox).table
    assert table.filter(table["neutral_comment"] == "neutral 0")["kept"].to_list() == [None]
    # If another question rejects the item, the result is not null.
    assert table.filter(table["neutral_comment"] == "neutral 1")["kept"].to_list() == [False]


CRITERIA = ["virtue", "law", "moral", "justice", "utilitarianism"]


@pytest.fixture
def ethics(tmp_path: Path) -> tuple[dict[str, list[Path]], list[dict]]:
    """Three pools of forty texts on which three of five annotators agree, and the dataset's items."""
    rng = np.random.default_rng(0)
    fields = ["text", "actant_1", "actant_2"]
    texts = [[f"text {n}", "one", "two"] for n in range(40)]
    truth = {name: rng.integers(0, 2, 40) for name in ("correct", "good", "ethical")}
    golds = {name: rng.integers(0, 2, 40) for name in CRITERIA}
    exports = {}
    for name, answers in truth.items():
        rows = [
            (shown, f"w{who}", str(int(answers[n]) if who < 3 else 1 - int(answers[n])), "")
            for n, shown in enumerate(texts)
            for who in range(5)
        ]
        exports[name] = [toloka(tmp_path / f"{name}.tsv", fields, rows)]
    items = [
        {
            "instruction": "?",
            "inputs": dict(zip(fields, shown, strict=True)),
            "outputs": {name: str(values[n]) for name, values in golds.items()},
            "meta": {"id": 3 * n + place, "question": question, "answer": str(truth[question][n])},
        }
        for n, shown in enumerate(texts)
        for place, question in enumerate(truth)
    ]
    return exports, items


def split(path: Path, items: list[dict]) -> Path:
    """A split file of the dataset without the annotators' answers."""
    kept = [item | {"meta": {k: v for k, v in item["meta"].items() if k != "answer"}} for item in items]
    path.write_text(json.dumps({"data": {"test": kept}}), encoding="utf-8")
    return path


def test_three_pools_and_five_criteria_make_fifteen_coefficients(
    ethics: tuple[dict[str, list[Path]], list[dict]], tmp_path: Path
) -> None:
    exports, items = ethics
    result = run_recipe(recipe("ruethics"), exports, gold=split(tmp_path / "gold.json", items))
    names = {f"{question}.{criterion}" for question in exports for criterion in CRITERIA}
    assert set(result.scores) == names == {one.metric for one in dataset("ruethics").human}
    for question in exports:
        asked = [item for item in items if item["meta"]["question"] == question]
        answers = [item["meta"]["answer"] for item in asked]
        for criterion in CRITERIA:
            score = result.scores[f"{question}.{criterion}"]
            gold = [item["outputs"][criterion] for item in asked]
            assert score.value == pytest.approx(matthews_corrcoef(gold, answers))
            assert score.n == 40


def test_people_get_the_scores_that_a_model_with_the_same_answers_gets(
    ethics: tuple[dict[str, list[Path]], list[dict]], tmp_path: Path
) -> None:
    exports, items = ethics
    path = split(tmp_path / "gold.json", items)
    people = run_recipe(recipe("ruethics"), exports, gold=path).scores
    answers = {item["meta"]["id"]: dict.fromkeys(CRITERIA, item["meta"]["answer"]) for item in items}
    model = scoring.score(dataset("ruethics"), read_split(path).items, answers).all()
    assert {name: (one.value, one.n) for name, one in people.items()} == {
        name: (one.value, one.n) for name, one in model.items()
    }


def test_criteria_that_the_right_answers_lack_are_named_together(
    ethics: tuple[dict[str, list[Path]], list[dict]], tmp_path: Path
) -> None:
    exports, items = ethics
    for item in items:
        del item["outputs"]["law"], item["outputs"]["justice"]
    with pytest.raises(UsageError, match="no columns 'law', 'justice' of gold answers"):
        run_recipe(recipe("ruethics"), exports, gold=split(tmp_path / "gold.json", items))


def test_texts_that_lack_some_criteria_are_counted_by_criterion(
    ethics: tuple[dict[str, list[Path]], list[dict]], tmp_path: Path
) -> None:
    exports, items = ethics
    for item in items[:6]:
        item["outputs"]["moral"] = None
    with pytest.raises(DataError, match=r"gold answers are missing for 'moral' \(2 of 40 items\)$"):
        run_recipe(recipe("ruethics"), exports, gold=split(tmp_path / "gold.json", items))


def dialogue(tmp_path: Path, name: str, answers: list[str], *, turn: bool) -> list[Path]:
    fields = [*(["turn"] if turn else []), "question", "answer_1", "answer_2"]
    rows = [
        ([*([str(n)] if turn else []), f"question {n}", "yes", "no"], f"w{who}", answer, "")
        for n, answer in enumerate(answers)
        for who in range(5)
    ]
    return [toloka(tmp_path / f"{name}.tsv", fields, rows)]


def test_with_and_without_history_are_compared_item_by_item(tmp_path: Path) -> None:
    exports = {
        "with_history": dialogue(tmp_path, "with", ["1"] * 20, turn=True),
        "without_history": dialogue(tmp_path, "without", ["1"] * 10 + ["2"] * 10, turn=False),
    }
    gold = tmp_path / "gold.csv"
    gold.write_text(
        "turn,question,answer_1,answer_2,gold\n" + "".join(f"{n},question {n},yes,no,1\n" for n in range(20)),
        encoding="utf-8",
    )
    result = run_recipe(recipe("rutie"), exports, gold=gold)
    assert result.scores["with_history.acc"].value == 1.0
    assert result.scores["without_history.acc"].value == 0.5
    assert result.agreement == (10, 20)
    assert result.comparison is not None
    assert result.comparison.value == 0.5
    assert result.comparison.test.p == pytest.approx(2 * 0.5**10)
    blind = run_recipe(recipe("rutie"), exports)
    assert blind.agreement == (10, 20)
    assert blind.comparison is None
    assert len(blind.left_undone) == 2


def test_the_real_dialogue_fits_both_questions_of_the_bundled_recipe(pools: Path) -> None:
    # One question of the dialogue occurs twice, and its turns have different answers.
    pool = [pools / "rutie" / "pool1.tsv"]
    result = run_recipe(recipe("rutie"), {"with_history": pool, "without_history": pool})
    assert result.agreement == (430, 430)
    for made in result.questions.values():
        assert made.agreement.majority_sizes == {5: 294, 4: 93, 3: 43}


def test_turns_that_are_shown_alike_and_cannot_be_told_apart_are_refused(tmp_path: Path) -> None:
    def answers(name: str, turns: tuple[int, int]) -> list[Path]:
        rows = [([str(n), "where?", "yes", "no"], who, str(place), "")
                for place, n in enumerate(turns, start=1) for who in ("ann", "bob", "cat")]  # fmt: skip
        return [toloka(tmp_path / f"{name}.tsv", ["turn", "question", "answer_1", "answer_2"], rows)]

    exports = {"with_history": answers("with", (4, 9)), "without_history": answers("without", (9, 4))}
    assert run_recipe(recipe("rutie"), exports).agreement == (0, 2)
    strange = {**exports, "without_history": answers("strange", (1, 2))}
    with pytest.raises(DataError, match="the other questions have no item with their turn"):
        run_recipe(recipe("rutie"), strange)


def test_a_recipe_of_ones_own_may_call_fields_otherwise(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(
        """
name: own
item: [pair]
min_votes: 1
questions:
  clear: {columns: {pair: couple}, accept: yes it is}
keep: [clear]
scores:
  - {metric: acc, gold: [right], kept: true}
""",
        encoding="utf-8",
    )
    table = tmp_path / "answers.csv"
    table.write_text("couple,annotator,answer\na,w,yes it is\nb,w,no\n", encoding="utf-8")
    gold = tmp_path / "gold.csv"
    gold.write_text("pair,right\na,no\nb,no\n", encoding="utf-8")
    result = run_recipe(read_recipe(own), {"clear": [table]}, gold=gold)
    assert result.table["kept"].to_list() == [True, False]
    score = result.scores["clear.right"]
    assert (score.value, score.n) == (0.0, 1)


@pytest.mark.parametrize("name", names())
def test_a_recipe_shown_can_be_copied_and_read_back(name: str, tmp_path: Path) -> None:
    copied = tmp_path / "copied.yaml"
    copied.write_text(text_of(name), encoding="utf-8")
    assert read_recipe(copied) == recipe(name) == recipe(str(copied))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "is not a recipe"),
        ("name: x", "item"),
        ("name: x\nitem: []\nquestions: {a: {}}", "needs the fields"),
        ("name: x\nitem: [t]\nquestions: {a: {shows: [u]}}", "there is no field 'u'"),
        ("name: x\nitem: [t, u]\nquestions: {a: {shows: [u]}}", "no question shows all fields"),
        ("name: x\nitem: [t]\nquestions: {a: {}}\nkeep: [a]", "has no 'accept'"),
        ("name: x\nitem: [t]\nquestions: {a: {}}\nkeep: [b]", "there is no question 'b'"),
        ("name: x\nitem: [t]\nquestions: {a: {}}\ncompare: [a, a]", "takes two questions"),
        ("name: x\nitem: [t]\nquestions: {a: {}}\nscores: [{metric: j}]", "source and rewritten"),
        ("name: x\nitem: [t]\nquestions: {a: {}}\nscores: [{kept: false}]", "give its 'metric'"),
        (
            "name: x\ndataset: rutie\nitem: [t]\nquestions: {a: {}}\nscores: [{metric: acc}]",
            "'metric' is not allowed",
        ),
        ("name: x\nitem: [t]\nignore: [t]\nquestions: {a: {}}", "is also a field of the item"),
        ("name: x\nitem: [t]\nquestions: {a: {accept: {b: c}}}", "accept: must be a list"),
        ("name: x\nitem: [t]\nquestions: {a: {}}\nscores: [{metric: bleu}]", "metric"),
        (
            "name: x\nitem: [t]\nquestions: {a: {}}\nscores: [{metric: acc, kept: true}]",
            "needs the recipe's 'keep'",
        ),
        ("name: x\nitem: [t]\nquestions: {t: {}}", "same name as a field"),
        ("name: x\nitem: [kept]\nquestions: {a: {}}", "a reserved name of the result"),
        ("name: x\nitem: [t]\nquestions: {gold: {}}", "a reserved name of the result"),
        ("name: x\nitem: [t]\nquestions: {a: {spam: 1}}", "spam"),
        ("name: &a x\nitem: [*a]\nquestions: {a: {}}", "aliases"),
        ("name: !!python/object:os.system x", "not YAML"),
        ("name: [", "not YAML"),
    ],
)
def test_a_recipe_that_is_none_says_all_that_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_recipe(own)


def test_questions_and_files_must_fit(detox: dict[str, list[Path]], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="question 'fluent' has no files"):
        run_recipe(recipe("rudetox"), {"meaning": detox["meaning"]})
    with pytest.raises(UsageError, match="has no question 'polite'"):
        run_recipe(recipe("rudetox"), {**detox, "polite": detox["fluent"]})
    alone = toloka(tmp_path / "alone.tsv", ["neutral_comment"], [(["else"], "ann", "true", "")], "is_match")
    with pytest.raises(UsageError, match="has no field 'toxic_comment'") as lacking:
        run_recipe(recipe("rudetox"), {**detox, "meaning": [alone]})
    assert "swapped" not in str(lacking.value)
    people = ("ann", "bob", "cat")
    strange = toloka(
        tmp_path / "strange.tsv",
        ["neutral_comment"],
        [(["else"], who, "fluent", "") for who in people],
        "fluent",
    )
    with pytest.raises(DataError, match="matches none of the items"):
        run_recipe(recipe("rudetox"), {**detox, "fluent": [strange]})


@pytest.mark.parametrize("other", ["fluent", "inoffensive"])
def test_swapped_files_are_named_with_the_question_that_they_fit(
    detox: dict[str, list[Path]], other: str
) -> None:
    swapped = {**detox, "meaning": detox[other], other: detox["meaning"]}
    with pytest.raises(
        UsageError, match=f"the file fits question '{other}': check that the files are not swapped"
    ) as caught:
        run_recipe(recipe("rudetox"), swapped)
    assert str(caught.value).startswith(f"{detox[other][0]}: ")


TWO = """
name: own
item: [text]
min_votes: 1
questions:
  clear: {accept: [clear, very clear]}
  short: {accept: yes}
keep: [clear, short]
"""


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, dict[str, list[Path]]]:
    """A recipe whose questions differ only in their answers, with their files."""
    own = tmp_path / "own.yaml"
    own.write_text(TWO, encoding="utf-8")
    answers = {"clear": ["clear", "very clear", "dark"], "short": ["yes", "yes", "no"]}
    exports = {
        name: [toloka(tmp_path / f"{name}.tsv", ["text"], [([f"t{n}"], "w", a, "") for n, a in enumerate(given)])]
        for name, given in answers.items()
    }  # fmt: skip
    return own, exports


def test_several_answers_may_accept_and_are_read_as_they_are_written(
    two: tuple[Path, dict[str, list[Path]]],
) -> None:
    own, exports = two
    assert read_recipe(own).questions["short"].accept == ("yes",)
    result = run_recipe(read_recipe(own), exports)
    assert result.table["kept"].to_list() == [True, True, False]


def test_files_that_differ_by_their_answers_alone_are_told_apart(
    two: tuple[Path, dict[str, list[Path]]], capsys: pytest.CaptureFixture[str]
) -> None:
    own, exports = two
    words = ["--files", f"clear={exports['short'][0]}", "--files", f"short={exports['clear'][0]}"]
    assert main(["recipe", "run", str(own), *words]) == 1
    (sentence,) = capsys.readouterr().err.splitlines()
    assert (
        "question 'clear' accepts 'clear', but no response has this answer (answers: yes (2), no (1))"
        in sentence
    )
    assert sentence.endswith("the file fits question 'short': check that the files are not swapped")


def test_an_accepted_answer_that_nobody_gave_stops_the_recipe(
    two: tuple[Path, dict[str, list[Path]]],
) -> None:
    own, exports = two
    own.write_text(TWO.replace("very clear", "quite clear"), encoding="utf-8")
    given = r"answers: clear \(1\), dark \(1\), very clear \(1\)"
    with pytest.raises(
        DataError, match=rf"accepts 'quite clear', but no response has this answer \({given}\)$"
    ):
        run_recipe(read_recipe(own), exports)


def test_a_truth_value_accepts_however_the_platform_writes_it(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(
        "name: own\nitem: [text]\nmin_votes: 1\nquestions: {toxic: {accept: false}}\nkeep: [toxic]\n", "utf-8"
    )
    for yes, no in (("true", "false"), ("1", "0"), ("TRUE", "FALSE")):
        file = toloka(tmp_path / "a.tsv", ["text"], [(["a"], "w", no, ""), (["b"], "w", yes, "")])
        assert run_recipe(read_recipe(own), {"toxic": [file]}).table["kept"].to_list() == [True, False]


def test_fields_of_the_platform_are_no_part_of_the_item(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    text = "name: own\nitem: [text]\nquestions: {clear: {}}\n"
    rows = [([f"{who}{n}", f"t{n}"], f"w{who}", "yes", "") for who in range(3) for n in range(2)]
    file = toloka(tmp_path / "a.tsv", ["row_number", "text"], rows)
    for ignored, answers in (("", [None, None]), ("ignore: [row_number]\n", ["yes", "yes"])):
        own.write_text(text + ignored, encoding="utf-8")
        assert run_recipe(read_recipe(own), {"clear": [file]}).table["clear"].to_list() == answers


def test_a_dataset_that_is_not_scored_by_j_takes_no_rewritten_sentences(
    two: tuple[Path, dict[str, list[Path]]],
) -> None:
    own, exports = two
    own.write_text(f"{TWO}dataset: rutie\nscores: [{{source: text, rewritten: text}}]\n", encoding="utf-8")
    with pytest.raises(UsageError, match="datasets scored by J need"):
        run_recipe(read_recipe(own), exports)


def test_a_spreadsheet_runs_nothing_of_the_items(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own, out = tmp_path / "own.yaml", tmp_path / "out"
    own.write_text("name: own\nitem: [text]\nquestions: {clear: {}}\nmin_votes: 1\n", encoding="utf-8")
    answers = toloka(tmp_path / "a.tsv", ["text"], [(["=1+1"], "w", "@SUM(A1)", "")])
    assert main(["recipe", "run", str(own), "--files", f"clear={answers}", "--out", str(out)]) == 0
    assert (out / "items.csv").read_text(encoding="utf-8").splitlines()[1] == "'=1+1,'@SUM(A1)"


def test_recipes_are_listed_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recipe", "list"]) == 0
    assert all(name in capsys.readouterr().out for name in ["rudetox"])
    assert main(["recipe", "show", "ruethics"]) == 0
    assert "utilitarianism" in capsys.readouterr().out
    assert main(["recipe", "show", "nothing"]) == 2
    assert main(["recipe", "run", "rudetox", "--files", "meaning"]) == 2


def test_the_field_of_a_plain_table_may_be_called_item(tmp_path: Path) -> None:
    own, answers, gold = tmp_path / "own.yaml", tmp_path / "answers.csv", tmp_path / "gold.csv"
    own.write_text(
        "name: own\nitem: [item]\nquestions: {first: {}, second: {}}\nscores: [{metric: acc}]\n"
        "compare: [first, second]\n",
        encoding="utf-8",
    )
    rows = "".join(f"q{n},p{person},{'AB'[n % 2]}\n" for n in range(4) for person in range(3))
    answers.write_text(f"item,annotator,answer\n{rows}", encoding="utf-8")
    gold.write_text("item,gold\n" + "".join(f"q{n},A\n" for n in range(4)), encoding="utf-8")
    result = run_recipe(read_recipe(own), {"first": [answers], "second": [answers]}, gold=gold)
    assert result.table["item"].to_list() == ["q0", "q1", "q2", "q3"]
    assert result.scores["first.acc"].value == 0.5
    assert result.comparison
    assert result.comparison.n == 4

"""Recipes: what three projects accept is kept, three pools make fifteen coefficients, two conditions stand side by side."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import matthews_corrcoef

from merilo.baselines.recipes.declaration import names, read_recipe, recipe, text_of
from merilo.baselines.recipes.running import run_recipe
from merilo.cli import main
from merilo.errors import DataError, InputError, UsageError
from merilo.metrics.detox import Ratings


def toloka(path: Path, fields: list[str], rows: list[tuple[list[str], str, str, str]]) -> Path:
    """A Toloka export from (inputs, annotator, answer, control)."""
    with path.open("w", encoding="utf-8", newline="") as lines:
        table = csv.writer(lines, delimiter="\t")
        table.writerow(
            [*(f"INPUT:{name}" for name in fields), "OUTPUT:result", "GOLDEN:result", "ASSIGNMENT:assignment_id",
             "ASSIGNMENT:worker_id", "ASSIGNMENT:status", "ASSIGNMENT:started", "ASSIGNMENT:submitted",
             "ASSIGNMENT:reward"]
        )  # fmt: skip
        for place, (inputs, who, answer, control) in enumerate(rows):
            table.writerow(
                [*inputs, answer, control, f"page{place}", who, "APPROVED", "2026-01-01T10:00:00",
                 "2026-01-01T10:00:30", "0.01"]
            )  # fmt: skip
    return path


PAIRS = [(f"toxic {n}", f"neutral {n}") for n in range(12)]

#: What the majority says of pair n: meaning, fluent, inoffensive.
VERDICTS = [(n % 2 == 0, n % 3 != 1, n != 6) for n in range(12)]


@pytest.fixture
def detox(tmp_path: Path) -> dict[str, list[Path]]:
    """Three projects, three people each; the third always disagrees, a fourth fails the controls."""

    def project(name: str, place: int, inputs: list[list[str]], fields: list[str]) -> list[Path]:
        rows = []
        for n, shown in enumerate(inputs):
            truth = str(int(VERDICTS[n][place]))
            other = str(1 - int(truth))
            rows += [(shown, "ann", truth, ""), (shown, "bob", truth, ""), (shown, "cat", other, "")]
            rows += [(shown, "spam", other, "")]
        rows += [
            ([f"control {field}" for field in fields], who, "0" if who == "spam" else "1", "1")
            for who in ("ann", "bob", "cat", "spam")
        ]
        return [toloka(tmp_path / f"{name}.tsv", fields, rows)]

    alone = [[neutral] for _, neutral in PAIRS]
    return {
        "meaning": project("meaning", 0, [list(pair) for pair in PAIRS], ["toxic", "neutral"]),
        "fluent": project("fluent", 1, alone, ["neutral"]),
        "inoffensive": project("inoffensive", 2, alone, ["neutral"]),
    }


class FixedRater:
    """Rates a pair by the number in it."""

    making = {"models": "none"}  # noqa: RUF012 - never changed

    def rate(self, toxic: list[str], rewritten: list[str]) -> Ratings:
        number = np.array([int(text.split()[-1]) for text in rewritten], dtype=float)
        assert [text.split()[-1] for text in toxic] == [text.split()[-1] for text in rewritten]
        return Ratings(number / 10, np.full(len(number), 0.5), np.ones(len(number)))


def test_pairs_that_all_three_projects_accept_are_kept(detox: dict[str, list[Path]]) -> None:
    result = run_recipe(recipe("rudetox"), detox)
    kept = result.table.filter("kept")["neutral"].to_list()
    assert kept == [f"neutral {n}" for n in range(12) if all(VERDICTS[n])]
    assert all(made.annotators["excluded"].sum() == 1 for made in result.questions.values())


def test_without_models_j_is_said_to_be_missing_and_the_rest_stands(detox: dict[str, list[Path]]) -> None:
    result = run_recipe(recipe("rudetox"), detox)
    assert result.scores == {}
    (sentence,) = result.left_undone
    assert "J of the 3 kept pairs" in sentence


def test_j_is_taken_on_the_kept_pairs_alone(detox: dict[str, list[Path]]) -> None:
    result = run_recipe(recipe("rudetox"), detox, rater=FixedRater())
    numbers = [n for n in range(12) if all(VERDICTS[n])]
    assert result.scores["j"].n == len(numbers)
    assert result.scores["j"].value == pytest.approx(np.mean([n / 10 * 0.5 for n in numbers]))
    assert result.left_undone == ()


def test_a_pair_that_a_question_left_undecided_is_neither_kept_nor_refused(
    detox: dict[str, list[Path]], tmp_path: Path
) -> None:
    rows = [([f"neutral {n}"], who, "1", "") for n in range(1, 12) for who in ("ann", "bob")]
    detox["fluent"] = [toloka(tmp_path / "part.tsv", ["neutral"], rows)]
    table = run_recipe(recipe("rudetox"), detox).table
    assert table.filter(table["neutral"] == "neutral 0")["kept"].to_list() == [None]
    # Where another question refuses, nothing is open.
    assert table.filter(table["neutral"] == "neutral 1")["kept"].to_list() == [False]


CRITERIA = ["virtue", "law", "moral", "justice", "utilitarianism"]


def test_three_pools_and_five_criteria_make_fifteen_coefficients(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
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
        exports[name] = [toloka(tmp_path / f"{name}.tsv", ["text", "actant_1", "actant_2"], rows)]
    gold = tmp_path / "gold.json"
    items = [
        {
            "instruction": "?",
            "inputs": dict(zip(("text", "actant_1", "actant_2"), shown, strict=True)),
            "outputs": {name: str(values[n]) for name, values in golds.items()},
            "meta": {"id": 3 * n + place, "question": question},
        }
        for n, shown in enumerate(texts)
        for place, question in enumerate(truth)
    ]
    gold.write_text(json.dumps({"data": {"test": items}}), encoding="utf-8")
    result = run_recipe(recipe("ruethics"), exports, gold=gold)
    assert set(result.scores) == {f"{question}.{criterion}" for question in truth for criterion in CRITERIA}
    for question, answers in truth.items():
        for criterion in CRITERIA:
            score = result.scores[f"{question}.{criterion}"]
            assert score.value == pytest.approx(matthews_corrcoef(golds[criterion], answers))
            assert score.n == 40


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


def test_the_real_dialogue_with_history_gives_an_answer_to_every_turn(pools: Path, tmp_path: Path) -> None:
    with_history = pools / "rutie" / "pool1.tsv"
    own = tmp_path / "own.yaml"
    own.write_text(
        "name: own\nitem: [turn, question, answer_1, answer_2]\nquestions: {with_history: {}}\n", "utf-8"
    )
    result = run_recipe(read_recipe(own), {"with_history": [with_history]})
    assert result.table.height == 430
    assert result.table["with_history"].null_count() == 0


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
        ("[]", "holds no recipe"),
        ("name: x", "item"),
        ("name: x\nitem: []\nquestions: {a: {}}", "needs the fields"),
        ("name: x\nitem: [t]\nquestions: {a: {shows: [u]}}", "there is no field 'u'"),
        ("name: x\nitem: [t, u]\nquestions: {a: {shows: [u]}}", "no question shows all fields"),
        ("name: x\nitem: [t]\nquestions: {a: {}}\nkeep: [a]", "which answer accepts"),
        ("name: x\nitem: [t]\nquestions: {a: {}}\nkeep: [b]", "there is no question 'b'"),
        ("name: x\nitem: [t]\nquestions: {a: {}}\ncompare: [a, a]", "takes two questions"),
        ("name: x\nitem: [t]\nquestions: {a: {}}\nscores: [{metric: j}]", "source and rewritten"),
        ("name: x\nitem: [t]\nquestions: {a: {}}\nscores: [{metric: bleu}]", "metric"),
        ("name: x\nitem: [t]\nquestions: {a: {}}\nscores: [{metric: acc, kept: true}]", "keeps nothing"),
        ("name: x\nitem: [t]\nquestions: {t: {}}", "called like a field"),
        ("name: x\nitem: [kept]\nquestions: {a: {}}", "the result's own name"),
        ("name: x\nitem: [t]\nquestions: {gold: {}}", "the result's own name"),
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
    with pytest.raises(UsageError, match="asks no question 'polite'"):
        run_recipe(recipe("rudetox"), {**detox, "polite": detox["fluent"]})
    with pytest.raises(UsageError, match="has no field 'toxic'"):
        run_recipe(recipe("rudetox"), {**detox, "meaning": detox["fluent"]})
    strange = toloka(
        tmp_path / "strange.tsv", ["neutral"], [(["else"], who, "1", "") for who in ("ann", "bob")]
    )
    with pytest.raises(DataError, match="answers none of the items"):
        run_recipe(recipe("rudetox"), {**detox, "fluent": [strange]})


def test_the_command_follows_a_recipe_and_writes_every_item(
    detox: dict[str, list[Path]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = ["recipe", "run", "rudetox", "--out", str(out), "--json", "-"]
    for name, (path,) in detox.items():
        words += ["--files", f"{name}={path}"]
    assert main(words) == 0
    said = capsys.readouterr()
    content = json.loads(said.out)
    assert content["kept"] == {
        "items": 3,
        "refused": 9,
        "undecided": 0,
        "accepted_by": {"meaning": 6, "fluent": 8, "inoffensive": 11},
    }
    assert "J of the 3 kept pairs" in said.err
    assert json.loads((out / "recipe.json").read_text(encoding="utf-8")) == content
    with (out / "items.csv").open(encoding="utf-8", newline="") as lines:
        assert sum(row["kept"] == "true" for row in csv.DictReader(lines)) == 3
    assert main(words[:-4] + words[5:]) == 2  # --out exists


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


def test_json_never_replaces_what_the_recipe_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = tmp_path / "answers.csv"
    answers.write_text("turn,annotator,answer\n1,ann,A\n", encoding="utf-8")
    words = ["--files", f"with_history={answers}", "--files", f"without_history={answers}"]
    assert main(["recipe", "run", "rutie", *words, "--json", str(answers)]) == 2
    assert "would be replaced" in capsys.readouterr().err
    assert answers.read_text(encoding="utf-8").startswith("turn,")

"""`merilo experts`: questions drawn, hours planned, experts beside people."""

import csv
import json
from pathlib import Path

import pytest

from merilo.cli import main
from merilo.items import read_split

EXPERTS = ["ann", "bob", "cat", "dan", "eve"]


def written(path: Path, header: list[str], rows: list[list[object]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as lines:
        table = csv.writer(lines)
        table.writerow(header)
        table.writerows(rows)
    return path


@pytest.fixture
def study(tmp_path: Path) -> dict[str, Path]:
    """Forty questions of two domains: each expert wrote a fifth; experts know nearly all, people two thirds."""
    questions = [f"question {n}" for n in range(40)]
    gold = {text: "ABCD"[n % 4] for n, text in enumerate(questions)}
    experts, people = [], []
    for n, text in enumerate(questions):
        for place, who in enumerate(EXPERTS):
            mine = n % 5 == place
            answer = "пропустить" if mine else gold[text] if n != 7 else "D" if gold[text] != "D" else "A"
            experts.append([text, who, answer, 75 if (n, who) == (3, "ann") else 40, "1" if mine else ""])
        for place in range(5):
            wrong = n % 3 == 0
            people.append(
                [text, f"p{place}", ("B" if gold[text] == "A" else "A") if wrong else gold[text], 20, ""]
            )
    header = ["question", "annotator", "answer", "seconds", "own"]
    split = {
        "data": {
            "test": [
                {
                    "instruction": "?",
                    "inputs": {"question": text},
                    "outputs": gold[text],
                    "meta": {
                        "id": n,
                        "domain": "law" if n < 20 else "art",
                        "subdomain": "ab"[n % 2],
                        "level": n % 3,
                    },
                }
                for n, text in enumerate(questions)
            ]
        }
    }
    items = tmp_path / "items.json"
    items.write_text(json.dumps(split), encoding="utf-8")
    return {
        "experts": written(tmp_path / "experts.csv", header, experts),
        "people": written(tmp_path / "people.csv", header, people),
        "gold": items,
    }


def run_json(capsys: pytest.CaptureFixture[str], *words: object) -> dict:
    assert main([*map(str, words), "--json", "-"]) == 0
    return json.loads(capsys.readouterr().out)


COLUMNS = ("--item", "question")


def test_two_baselines_stand_side_by_side(study: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    content = run_json(
        capsys, "experts", "baseline", study["experts"], "--people", study["people"], "--gold", study["gold"],
        "--mine", "пропустить", "--domain", "domain", *COLUMNS,
    )  # fmt: skip
    experts = content["experts"]
    assert experts["answers"]["may_be_mine"] == 40
    assert experts["items"]["answers_left"] == {"4": 40}
    assert experts["metrics"]["acc"]["value"] == 39 / 40
    assert {name: one["n"] for name, one in experts["by_domain"].items()} == {"law": 20, "art": 20}
    assert experts["experts"] == {"law": 5, "art": 5}
    assert content["people"]["metrics"]["acc"]["value"] == pytest.approx(26 / 40)
    comparison = content["comparison"]
    assert (comparison["n"], comparison["only_experts_right"], comparison["only_people_right"]) == (40, 14, 1)
    assert comparison["p"] < 0.01


def test_marks_may_stand_in_a_column_of_their_own(
    study: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    beside = run_json(
        *(capsys, "experts", "baseline", study["experts"]),
        *("--gold", study["gold"], "--mine-column", "own"),
        *COLUMNS,
    )
    among = run_json(
        *(capsys, "experts", "baseline", study["experts"]),
        *("--gold", study["gold"], "--mine", "Пропустить"),
        *COLUMNS,
    )
    assert beside["experts"]["outside_labels"] == among["experts"]["outside_labels"] == {}
    assert beside["experts"]["answers"] == among["experts"]["answers"]
    assert beside["experts"]["metrics"] == among["experts"]["metrics"]


def test_a_column_that_is_set_everywhere_is_no_column_of_marks(
    study: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["experts", "baseline", study["experts"], "--gold", study["gold"], "--mine-column", "seconds"]
    assert main([*map(str, words), *COLUMNS]) == 2
    complaint = capsys.readouterr().err
    assert "--mine-column: column 'seconds' marks every answer" in complaint


@pytest.mark.parametrize(("late", "counted"), [("drop", 159), ("keep", 160), ("wrong", 160)])
def test_the_handling_of_late_answers_is_recorded(
    study: dict[str, Path], capsys: pytest.CaptureFixture[str], late: str, counted: int
) -> None:
    content = run_json(
        capsys, "experts", "baseline", study["experts"], "--gold", study["gold"], "--mine", "пропустить",
        "--time-limit", "60", "--late", late, *COLUMNS,
    )  # fmt: skip
    assert content["experts"]["answers"]["late"] == 1
    assert content["experts"]["answers"]["counted"] == counted
    assert content["experts"]["design"]["late"] == late
    assert content["provenance"]["parameters"]["late"] == late
    assert content["provenance"]["parameters"]["time_limit"] == 60


def test_items_with_too_few_left_are_named(
    study: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = [
        "experts", "baseline", study["experts"], "--gold", study["gold"], "--mine", "пропустить",
        "--min-answers", "5", "--out", out, *COLUMNS,
    ]  # fmt: skip
    content = run_json(capsys, *words)
    items = content["experts"]["items"]
    assert (len(items["too_few"]), items["decided"], items["decided_share"]) == (40, 0, 0.0)
    assert (len(items["fallback"]["votes"]), items["counted_as_wrong"]) == (40, [])
    assert content["experts"]["metrics"]["acc"]["n"] == 40
    assert content["experts"]["decided_by_rule"] is None
    with (out / "items.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert {(row["outcome"], row["fallback"]) for row in rows} == {("too_few", "votes")}
    assert json.loads((out / "experts.json").read_text(encoding="utf-8")) == content


def test_experts_who_saw_nothing_follow_the_basic_protocol(
    study: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    content = run_json(
        *(capsys, "experts", "baseline", study["people"]),
        *("--protocol", "basic", "--gold", study["gold"]),
        *COLUMNS,
    )
    assert content["experts"]["protocol"] == "basic"
    assert content["experts"]["metrics"]["acc"]["n"] == 40


def test_studies_of_different_questions_are_not_compared(
    study: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = written(
        tmp_path / "other.csv", ["question", "annotator", "answer"], [["else", who, "A"] for who in EXPERTS]
    )
    gold = tmp_path / "gold.csv"
    gold.write_text("question,gold\nquestion 1,B\nquestion 2,C\nelse,A\n", encoding="utf-8")
    status = main(
        [*map(str, ("experts", "baseline", study["experts"], "--people", other, "--gold", gold,
        "--mine", "пропустить", "--item", "question"))]
    )  # fmt: skip
    assert status == 2
    assert "no item was answered by both experts and non-experts" in capsys.readouterr().err


def test_questions_are_drawn_evenly_and_can_be_drawn_again(
    study: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "sample.json"
    words = ["experts", "sample", study["gold"], "-n", "12", "--domain", "domain", "--seed", "5",
             "--even-over", "subdomain", "--even-over", "level", "--out", out]  # fmt: skip
    content = run_json(capsys, *words)
    assert content["questions"] == 24
    assert {tuple(one["values"]): one["taken"] for one in content["strata"]} == {
        (domain, sub, str(level)): 2 for domain in ("law", "art") for sub in "ab" for level in range(3)
    }
    first = out.read_bytes()
    assert len(read_split(out).items) == 24
    assert main([*map(str, words)]) == 2  # never overwritten unless told to
    run_json(capsys, *words, "--force")
    assert out.read_bytes() == first


def test_a_second_answer_and_another_encoding_are_handled_as_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"вопрос,{who},A\n" for who in EXPERTS) + "вопрос,ann,B\nдругой,eve,Возможно мой вопрос\n"
    file = tmp_path / "experts.csv"
    file.write_bytes(("question,annotator,answer\n" + rows).encode("cp1251"))
    reading = tmp_path / "reading.yaml"
    reading.write_text("item: question\nencoding: cp1251\n", encoding="utf-8")
    words = ("experts", "baseline", file, "--reading", reading)
    assert main([*map(str, words)]) == 1
    assert "choose first, last or drop with --repeats" in capsys.readouterr().err
    content = run_json(capsys, *words, "--repeats", "drop")
    assert content["experts"]["answers"]["counted"] == 4
    assert "--repeats drop" in content["provenance"]["command"]


def test_the_plan_is_the_guides(capsys: pytest.CaptureFixture[str]) -> None:
    content = run_json(capsys, "experts", "plan", "-n", "100", "--experts", "5", "--rate", "10")
    assert content["answers_an_item"] == 4
    assert content["hours"] == pytest.approx(100 / 30)
    assert 3 <= content["hours"] <= 4
    assert content["hours_without_own"] == pytest.approx(80 / 30)
    assert main(["experts", "plan", "-n", "100", "--experts", "5"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "hours per expert │ 3.3" in said
    assert (
        "Assumed: 30 questions an hour (2 minutes each); each expert wrote an equal share, 20 of the 100 questions"
        in said
    )
    assert "If own questions are not shown, an expert works 2.7 hours." in said
    assert main(["experts", "plan", "--experts", "0"]) == 2
    for impossible in (["--an-hour", "nan"], ["--an-hour", "1e-320"], ["--rate", "-3"], ["--rate", "nan"]):
        assert main(["experts", "plan", *impossible]) == 2


def test_the_tables_are_printed(
    study: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("experts", "baseline", study["experts"], "--people", study["people"], "--gold", study["gold"],
             "--mine", "пропустить", "--min-answers", "5", "--item", "question")  # fmt: skip
    assert main([*map(str, words)]) == 0
    said = capsys.readouterr().out
    assert "people without training, acc" in said
    assert "too few answers left for the rule: items 1, 2" in said
    assert "decided by the most votes: items 1, 2" in said
    assert "Decided by the rule: 0 of 40 items." in said
    assert main(["experts", "plan"]) == 0
    assert main(["experts", "sample", str(study["gold"]), "-n", "3", "--out", str(tmp_path / "s.jsonl")]) == 0


def test_without_right_answers_no_empty_table_is_printed(
    study: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["experts", "baseline", str(study["experts"]), "--mine", "пропустить", "--item", "question"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "No gold answers, so no score: add --gold FILE." in said
    assert "┏" not in said


def test_what_is_read_is_never_replaced(study: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    experts, items = study["experts"], study["gold"]
    before = experts.read_bytes(), items.read_bytes()
    for words in (
        ["baseline", str(experts), "--item", "question", "--json", str(experts)],
        ["sample", str(items), "-n", "3", "--out", str(items), "--force"],
        ["sample", str(items), "-n", "3", "--out", str(items.with_name("s.json")), "--json", str(items)],
    ):
        assert main(["experts", *words]) == 2
        assert "would be overwritten" in capsys.readouterr().err
    assert (experts.read_bytes(), items.read_bytes()) == before


def test_a_study_without_marks_is_refused_with_the_answers_that_may_be_the_mark(
    study: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["experts", "baseline", str(study["experts"]), "--item", "question", "--gold", str(study["gold"])]
    assert main(words) == 2
    (sentence,) = capsys.readouterr().err.splitlines()
    assert "answers outside the labels: 'пропустить' (40)" in sentence
    assert "--mine TEXT" in sentence
    assert main([*words, "--mine", "пропустить вопрос"]) == 2
    complaint = capsys.readouterr().err
    assert "--mine: no expert gave the answer 'пропустить вопрос'" in complaint
    assert "'пропустить' (40)" in complaint


def test_the_guides_option_is_recognised_without_being_named(
    study: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    named = run_json(
        *(capsys, "experts", "baseline", study["experts"]),
        *("--gold", study["gold"], "--mine", "пропустить"),
        *COLUMNS,
    )
    option = "Пропустить вопрос, так как он, возможно, был придуман мной."
    text = study["experts"].read_text(encoding="utf-8").replace(",пропустить,", f',"{option}",')
    study["experts"].write_text(text, encoding="utf-8")
    words = ("experts", "baseline", study["experts"], "--gold", study["gold"])
    found = run_json(capsys, *words, *COLUMNS)
    assert found["experts"]["metrics"] == named["experts"]["metrics"]
    assert found["experts"]["taken_as_mine"] == {option: 40}
    assert found["experts"]["outside_labels"] == {}
    assert main([*map(str, words), "--item", "question"]) == 0
    assert f"Counted as 'may be mine': '{option}' (40)" in capsys.readouterr().out


def test_answers_outside_the_labels_are_listed_with_their_counts(
    study: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    text = study["experts"].read_text(encoding="utf-8").replace("question 8,ann,A", "question 8,ann,не знаю")
    study["experts"].write_text(text, encoding="utf-8")
    words = ["experts", "baseline", study["experts"], "--gold", study["gold"], "--mine", "пропустить",
             "--dataset", "ruworldtree", *COLUMNS, "--json", "-"]  # fmt: skip
    assert main([*map(str, words)]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["experts"]["outside_labels"] == {"не знаю": 1}
    assert "answers outside the labels, counted as votes: 'не знаю' (1)" in said.err


@pytest.mark.parametrize(
    ("dataset", "instead"),
    [
        ("ruethics", "merilo baseline"),
        ("rudetox", "merilo score"),
        ("ruhumaneval", "merilo code score"),
    ],
)
def test_datasets_whose_answers_are_no_labels_are_sent_to_their_command(
    study: dict[str, Path], capsys: pytest.CaptureFixture[str], dataset: str, instead: str
) -> None:
    words = ["experts", "baseline", study["experts"], "--gold", study["gold"], "--mine", "пропустить",
             "--dataset", dataset, *COLUMNS]  # fmt: skip
    assert main([*map(str, words)]) == 2
    assert instead in capsys.readouterr().err


@pytest.mark.parametrize("protocol", ["out-of-bag", "basic"])
def test_experts_on_a_sample_are_weighted_to_the_whole_dataset(
    protocol: str, study: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Twenty questions of each domain stand for 900 of law and 100 of art; one of law is wrong."""
    sizes = {"law": 900, "art": 100}
    population = written(tmp_path / "all.csv", ["domain", "count"], [[*row] for row in sizes.items()])
    given = [
        *(str(study["experts"]), "--people", str(study["people"])),
        *("--gold", str(study["gold"]), "--protocol", protocol),
    ]
    given += [*COLUMNS, "--population", str(population), "--strata", "domain"]
    if protocol == "out-of-bag":
        given += ["--mine", "пропустить"]
    assert main(["experts", "baseline", *given, "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    for side, right in (
        ("experts", {"law": 19 / 20, "art": 1.0}),
        ("people", {"law": 13 / 20, "art": 13 / 20}),
    ):
        whole = found[side]["whole_dataset"]
        by_hand = sum(sizes[name] * share for name, share in right.items()) / 1000
        assert whole["metrics"]["acc"]["value"] == pytest.approx(by_hand)
        low, high = whole["metrics"]["acc"]["ci95"]
        assert low < by_hand < high
        wide = whole["metrics"]["acc"]["ci95_items_and_annotators"]
        assert wide[0] <= low
        assert wide[0] < by_hand < wide[1]
        assert (whole["population"]["smallest_weight"], whole["population"]["largest_weight"]) == (5.0, 45.0)
    assert "--population" in found["provenance"]["command"]
    assert main(["experts", "baseline", *given]) == 0
    assert "acc, whole dataset" in capsys.readouterr().out

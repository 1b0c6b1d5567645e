"""Closed gold answers, and everything per item that follows from them, stay out of a published folder."""

import csv
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from command import done, merilo
from exports import csv_rows
from hb_notebook import run_notebook
from made_once import made_once

import merilo as library
from merilo.baselines.withholding import LEAST_ITEMS, too_small
from merilo.reports import folder as _folder  # noqa: F401 - read before a test changes LEAST_ITEMS

ITEMS, PEOPLE = 44, 5
#: Nobody gives the gold answers of these items, so that their texts can be looked for.
MISSED = range(30, 44)
#: Two items of this domain and one of "tea" are too few for a metric.
DOMAINS = {**dict.fromkeys(range(41), "law"), 41: "art", 42: "art", 43: "tea"}

WORDS = """\
name: words
title: Words
fields: [question]
answer: {kind: text}
metrics: [em, f1]
extra: em.{domain}
gold: closed
"""
LABELS = """\
name: labels
title: Labels
fields: [question]
answer: {kind: choice, labels: [A, B]}
metrics: [acc]
extra: acc.{domain}
gold: closed
"""


def table(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([header, *rows])
    return path


def gold_text(item: int) -> str:
    return f"zqgold{item}zq"


def label(item: int) -> str:
    return "AB"[item % 3 == 0]


def gold_file(path: Path, golds: Sequence[str], domains: dict[int, str] = DOMAINS) -> Path:
    rows = [
        {"instruction": "", "inputs": {"question": f"question {item}"}, "outputs": text,
         "meta": {"id": f"id-{item}", "domain": domains[item], "why": f"because it is {text}", "class": text}}
        for item, text in enumerate(golds)
    ]  # fmt: skip
    path.write_text(json.dumps({"data": {"test": rows}}), encoding="utf-8")
    return path


def people(path: Path, golds: Sequence[str], wrong: str, *, both: int | None = None) -> Path:
    """Everybody is right on most items; the item `both` is a control item on one more page."""
    rows: list[list[object]] = []
    for person in range(PEOPLE):
        for item, text in enumerate(golds):
            given = f"{wrong}{item % 7}" if wrong == "no" else "B" if text == "A" else "A"
            off = item in MISSED or (item + person) % 11 == 0
            rows.append(
                [f"question {item}", f"p{person}", given if off else text, "", f"{person}-{item // 4}", 20]
            )
        rows += [[f"control {item}", f"p{person}", "A", "A", f"{person}-c", 20] for item in range(3)]
        if both is not None:
            extra = f"p{person + 100}"
            rows.append([f"question {both}", extra, golds[both], golds[both], f"{extra}-c", 20])
            rows.append(
                [f"question {(both + 1) % ITEMS}", extra, golds[(both + 1) % ITEMS], "", f"{extra}-c", 20]
            )
    return table(path, ["question", "annotator", "answer", "golden", "page", "seconds"], rows)


COLUMNS = ("--item", "question", "--annotator", "annotator", "--answer", "answer")


@made_once
def base(
    folder: Path, declaration: str, *options: object, both: int | None = None, name: str = "mine.yaml"
) -> Path:
    """The private folder of a baseline: `base` in this folder."""
    is_text = "kind: text" in declaration
    golds = [gold_text(item) if is_text else label(item) for item in range(ITEMS)]
    (folder / name).write_text(declaration, encoding="utf-8")
    answers = people(folder / "answers.csv", golds, "no" if is_text else "", both=both)
    model = [
        {"id": f"id-{item}", "answer": text if item % 2 else wrong, "gold": text, "score": item % 2}
        for item, text in enumerate(golds)
        for wrong in ["no0" if is_text else "B" if text == "A" else "A"]
    ]
    (folder / "robot.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in model), encoding="utf-8")
    done(
        "baseline", answers, *COLUMNS, "--dataset", folder / name, "--gold", gold_file(folder / "gold.json", golds),
        "--model", folder / "robot.jsonl", "--out", folder / "base", *options,
    )  # fmt: skip
    return folder / "base"


def report(source: Path, out: Path, *options: object) -> str:
    outcome = done("report", source, "--out", out, *options)
    return outcome.err


def searched(path: Path) -> str:
    """All text of a file."""
    return path.read_bytes().decode("utf-8", "replace")


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder hb/ of free texts, its notebook run."""
    folder = tmp_path_factory.mktemp("words")
    said = report(base(folder, WORDS, "--by", "domain"), folder / "hb")
    assert "The gold answers of this dataset are closed" in said
    run_notebook(folder / "hb", save=True)
    return folder / "hb"


def test_no_byte_of_the_folder_has_a_gold_answer_that_nobody_gave(words: Path) -> None:
    files = [path for path in words.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} >= {".csv", ".json", ".html", ".ipynb", ".md"}
    for path in files:
        text = searched(path)
        for item in MISSED:
            assert gold_text(item) not in text, path
        assert "because it is" not in text, path
    assert "zqgold3zq" in searched(words / "raw" / "responses.csv")


def test_the_folder_without_gold_is_verified_and_says_what_was_not_recomputed(
    words: Path, tmp_path: Path
) -> None:
    outcome = done("verify", words, "--json", "-")
    assert outcome.json["verified"]
    assert {"metrics", "status"} <= set(outcome.json["not_recomputed"])
    assert not {"agreement", "cost"} & set(outcome.json["not_recomputed"])
    assert "not recomputed: status, metrics" in merilo("verify", words).out
    with_gold = merilo("verify", words, "--gold", words.parent / "gold.json", "--json", "-").json
    assert with_gold["verified"], with_gold["differences"]
    assert with_gold["not_recomputed"] == ["models", "echoes"], "their answers are withheld"
    shutil.copytree(words, tmp_path / "hb")
    path = tmp_path / "hb" / "raw" / "responses.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("zqgold3zq", "zqgold4zq", 3), encoding="utf-8")
    assert merilo("verify", tmp_path / "hb").status == 1


def test_a_comparison_with_closed_gold_is_unpaired_and_says_so(words: Path, tmp_path: Path) -> None:
    gold = json.loads((words.parent / "gold.json").read_text(encoding="utf-8"))
    for item in gold["data"]["test"]:
        item["instruction"] = "{question}"
    (tmp_path / "asked.json").write_text(json.dumps(gold), encoding="utf-8")
    shutil.copy(words.parent / "mine.yaml", tmp_path)
    run = ("run", "--model", "gold", "--datasets", tmp_path / "mine.yaml", "--data", tmp_path / "asked.json")
    assert merilo(*run, "--shots", "0", "--out", tmp_path / "run").status == 0
    consensus, person = merilo("compare", words, tmp_path / "run", "--json", "-").json["rows"]
    published = json.loads((words / "baseline.json").read_text(encoding="utf-8"))
    assert consensus["people"] == published["metrics"]["em"]
    assert person["people"] == published["single_person"]
    assert consensus["difference"]["value"] == round(1 - 30 / ITEMS, 3)
    assert "unpaired: the gold answers are closed" in consensus["sentence"]
    loaded = library.compare(library.load(words), tmp_path / "run").to_json()["rows"]
    assert [row["difference"] for row in loaded] == [consensus["difference"], person["difference"]]
    paired = merilo("compare", words, tmp_path / "run", "--data", words.parent / "gold.json", "--json", "-")
    beside = paired.json["rows"][0]
    assert "unpaired" not in beside["sentence"]
    assert beside["difference"]["ci95"] == pytest.approx(consensus["difference"]["ci95"], abs=0.1)
    refused = merilo("compare", words, words.parent / "robot.jsonl")
    assert "the gold answers are closed: give them with --data FILE, or compare a run" in refused.complaint


@pytest.mark.parametrize(
    ("rule", "items", "least"), [("agreed", "agreed", 5), ("all", "all", 5), ("agreed", "all", 20)]
)
def test_the_metadata_have_the_value_that_the_settings_choose(
    rule: str, items: str, least: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With too few items without a majority, the value on the others would tell theirs: it is that of all items."""
    monkeypatch.setattr("merilo.baselines.withholding.LEAST_ITEMS", least)
    cards = tmp_path / "dataset"
    cards.mkdir()
    meta = {"metrics": {"Accuracy": {"en": "share", "ru": "доля"}}, "human_benchmark": {}}
    (cards / "raw_dataset_meta.json").write_text(json.dumps(meta), encoding="utf-8")
    # A majority is five of five: items with another answer are decided by the cascade.
    folder = base(tmp_path, LABELS, "--min-votes", 5, "--max-low-agreement", 1, "--human-benchmark", rule)
    report(folder, tmp_path / "hb", "--cards", cards)
    content = json.loads((tmp_path / "hb" / "baseline.json").read_text(encoding="utf-8"))
    chosen = content["by_majority_alone" if items == "agreed" else "metrics"]["acc"]
    assert (chosen["n"] < content["metrics"]["acc"]["n"] == ITEMS) == (items == "agreed")
    assert (content["by_majority_alone"] == {}) == (least == 20)
    assert (content["human_benchmark"]["items"], content["gold"]["withheld"]) == (items, True)
    card = json.loads((tmp_path / "hb" / "raw_dataset_meta.json").read_text(encoding="utf-8"))
    assert card["human_benchmark"] == {"Accuracy": chosen["value"]}
    which = "the items with a majority only" if items == "agreed" else "all items with a consensus"
    section = (tmp_path / "hb" / "human_baseline_en.md").read_text(encoding="utf-8")
    assert f"metadata is that of {which}: {chosen['n']} of {ITEMS}." in section


def test_verify_compares_the_models_again(tmp_path: Path) -> None:
    folder = base(tmp_path, LABELS)
    assert merilo("verify", folder, "--json", "-").json["not_recomputed"] == []
    content = (folder / "baseline.json").read_text(encoding="utf-8")
    score = json.loads(content)["models"][0]["score"]["value"]
    (folder / "baseline.json").write_text(
        content.replace(f'"value": {score}', '"value": 0.9'), encoding="utf-8"
    )
    assert "differs: models.0.score.value: published 0.9" in merilo("verify", folder).out


def test_the_metrics_of_the_whole_study_stand_and_those_of_tiny_groups_do_not(words: Path) -> None:
    content = json.loads((words / "baseline.json").read_text(encoding="utf-8"))
    assert content["metrics"]["em"]["value"] == round(30 / ITEMS, 3)
    assert content["metrics"]["em"]["n"] == ITEMS
    assert content["metrics"]["em"]["ci95"] == [round(one, 3) for one in content["metrics"]["em"]["ci95"]]
    assert content["gold"]["withheld"] is True
    # Without "art" and "tea", the metric of "law" would give the three other items away.
    for name in ("law", "art", "tea"):
        assert content["metrics"][f"em.{name}"]["value"] is None
        (one,) = (group for group in content["groups"] if group["name"] == f"domain={name}: em")
        assert (one["value"], one["n"]) == (None, list(DOMAINS.values()).count(name))
    assert content["models"][0]["people"]["value"] == round(30 / ITEMS, 3)
    assert not (words / "raw" / "models").exists()
    english = (words / "README.md").read_text(encoding="utf-8")
    assert "groups of fewer than 5 items have no metric" in english
    assert "recomputes every value from" not in english
    assert "The gold answers of this dataset are closed" in english


def test_no_table_or_page_tells_which_labels_are_right(tmp_path: Path) -> None:
    report(base(tmp_path, LABELS, "--by", "class"), tmp_path / "hb")
    table_rows = csv_rows(tmp_path / "hb" / "consensus.csv")
    assert len(table_rows) == ITEMS
    for row in table_rows:
        assert row["label"] in {"A", "B"}
        assert (row["gold"], row["correct"], row["points"]) == ("", "", "")
    assert [row["id"] for row in table_rows][:2] == ["id-0", "id-1"]
    page = (tmp_path / "hb" / "items.html").read_text(encoding="utf-8")
    open_page = (tmp_path / "base" / "items.html").read_text(encoding="utf-8")
    for mark in ('data-outcome="wrong"', 'data-outcome="right"', 'data-outcome="correct"'):
        assert mark not in page
    assert page.count("no gold answer") > open_page.count("no gold answer")
    assert not (tmp_path / "hb" / "raw" / "gold.csv").exists()
    # The field `class` has the gold answer of each item.
    reading = json.loads((tmp_path / "hb" / "raw" / "settings.json").read_text(encoding="utf-8"))
    assert reading["settings"]["by"] == []
    assert '"class"' not in (tmp_path / "hb" / "raw" / "ids.csv").read_text(encoding="utf-8")
    content = json.loads((tmp_path / "hb" / "baseline.json").read_text(encoding="utf-8"))
    assert content["groups"] == []
    assert content["doubtful"] is None
    assert not (tmp_path / "hb" / "doubtful.csv").exists()
    run_notebook(tmp_path / "hb", save=True)
    assert merilo("verify", tmp_path / "hb").status == 0


def test_with_gold_everything_is_there_and_recomputed(tmp_path: Path) -> None:
    said = report(base(tmp_path, LABELS, "--by", "class"), tmp_path / "hb", "--with-gold")
    assert "This folder contains closed gold answers: do not publish it" in said
    assert "do not publish it" in (tmp_path / "hb" / "README.md").read_text(encoding="utf-8")
    assert (tmp_path / "hb" / "raw" / "gold.csv").exists()
    assert {row["correct"] for row in csv_rows(tmp_path / "hb" / "consensus.csv")} == {"true", "false"}
    assert merilo("verify", tmp_path / "hb", "--json", "-").json == {
        "folder": str(tmp_path / "hb"), "verified": True, "differences": [], "not_recomputed": [],
    }  # fmt: skip


def test_the_known_answer_of_a_control_item_that_is_a_test_item_is_withheld(tmp_path: Path) -> None:
    report(base(tmp_path, LABELS, both=2), tmp_path / "hb")
    items = {row["item"]: row["question"] for row in csv_rows(tmp_path / "hb" / "raw" / "items.csv")}
    answers = [
        row for row in csv_rows(tmp_path / "hb" / "raw" / "responses.csv") if row["is_control"] == "true"
    ]
    known = {items[row["item"]]: row["control"] for row in answers}
    assert known == {"control 0": "A", "control 1": "A", "control 2": "A", "question 2": ""}
    assert merilo("verify", tmp_path / "hb").status == 0


def test_an_exclusion_by_test_items_with_closed_gold_is_refused(tmp_path: Path) -> None:
    golds = [label(item) for item in range(ITEMS)]
    answers = people(tmp_path / "answers.csv", golds, "")
    with answers.open("a", encoding="utf-8") as stream:
        stream.writelines(
            f"question {item},late,{'B' if golds[item] == 'A' else 'A'},{golds[item]},l,9\n"
            for item in range(4)
        )
        stream.writelines(f"question {item},late,A,,l,9\n" for item in range(4, 12))
    (tmp_path / "mine.yaml").write_text(LABELS, encoding="utf-8")
    merilo(
        "baseline", answers, *COLUMNS, "--dataset", tmp_path / "mine.yaml", "--gold", gold_file(tmp_path / "gold.json", golds),
        "--out", tmp_path / "base",
    )  # fmt: skip
    outcome = merilo("report", tmp_path / "base", "--out", tmp_path / "hb")
    assert outcome.status == 1
    assert (
        "the exclusion of 1 annotator depends on control items that are test items too" in outcome.complaint
    )
    assert not (tmp_path / "hb").exists()
    report(tmp_path / "base", tmp_path / "hb", "--with-gold")


def test_gold_of_a_solver_counts_as_closed_if_the_catalogue_says_so(tmp_path: Path) -> None:
    def pool(name: str, header: list[str], asked: list[list[str]]) -> Path:
        given = [[*one, f"p{person}", "0", "", str(person)] for one in asked for person in range(5)]
        return table(tmp_path / f"{name}.csv", [*header, "annotator", "answer", "golden", "page"], given)

    pools = {
        "lcs": pool("lcs", ["string1", "string2"], [["AB" * n, "CD" * n] for n in range(2, 16)]),
        "bps": pool("bps", ["inputs"], [["( ] " * n] for n in range(2, 16)]),
    }
    for name, path in pools.items():
        fields = ("string1", "string2") if name == "lcs" else ("inputs",)
        done(
            "baseline", path, "--dataset", name, *(word for one in fields for word in ("--item", one)), "--annotator",
            "annotator", "--answer", "answer", "--out", tmp_path / name,
        )  # fmt: skip
        said = report(tmp_path / name, tmp_path / f"{name}-hb")
        there = (tmp_path / f"{name}-hb" / "raw" / "gold.csv").exists()
        assert there == (name == "bps")
        assert ("The gold answers of this dataset are closed" in said) == (name == "lcs")
        content = json.loads((tmp_path / f"{name}-hb" / "baseline.json").read_text(encoding="utf-8"))
        # Everybody is right or wrong on all items: the value would tell each gold answer.
        assert (content["metrics"]["acc"]["value"] is None) == (name == "lcs")


def test_experts_bring_no_gold_answer_either(tmp_path: Path) -> None:
    base(tmp_path, WORDS)
    answers = [
        [f"question {item}", who, f"no{item % 7}" if item in MISSED else gold_text(item), 40]
        for item in range(ITEMS)
        for who in ("ann", "bob", "cy", "di")
    ]
    answers[0][2] = "may be mine"
    table(tmp_path / "experts.csv", ["question", "annotator", "answer", "seconds"], answers)
    done(
        "baseline", tmp_path / "answers.csv", tmp_path / "experts.csv", "--arm", "files", "--dataset", tmp_path / "mine.yaml",
        "--gold", tmp_path / "gold.json", "--item", "question", "--by", "domain", "--out", tmp_path / "both",
    )  # fmt: skip
    report(tmp_path / "both", tmp_path / "hb")
    for path in (tmp_path / "hb").rglob("*"):
        if path.is_file():
            text = searched(path)
            assert not [item for item in MISSED if gold_text(item) in text], path
    content = json.loads((tmp_path / "hb" / "baseline.json").read_text(encoding="utf-8"))
    assert (content["arm"], {*content["arms"]}) == ("everybody", {"answers", "experts"})
    assert content["arms"]["experts"]["metrics"]["em"]["value"] == round(30 / ITEMS, 3)
    verified = done("verify", tmp_path / "hb", "--json", "-")
    assert "arms" in verified.json["not_recomputed"]
    run_notebook(tmp_path / "hb", save=True)


def group(first: int, last: int) -> frozenset[int]:
    return frozenset(range(first, last))


@pytest.mark.parametrize(
    ("groups", "hidden"),
    [
        ({"a": group(0, 30), "b": group(30, 60)}, set()),
        ({"a": group(0, 30), "b": group(30, 59), "one": group(59, 60)}, {"b", "one"}),
        ({"a": group(0, 57)}, {"a"}),
        ({"law": group(0, 30), "art": group(30, 60), "law, easy": group(0, 27)}, {"law, easy"}),
        ({"law": group(0, 30), "x": group(0, 12), "y": group(12, 27)}, {"x"}),
        ({"old": group(0, 30), "early": group(2, 32)}, {"old"}),
    ],
)
def test_a_group_is_hidden_if_totals_would_single_out_a_few_items(
    groups: dict[str, frozenset[int]], hidden: set[str]
) -> None:
    assert too_small(groups, group(0, 60)) == hidden
    assert LEAST_ITEMS == 5

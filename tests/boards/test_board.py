"""The leaderboard from runs, baselines and a folder of submissions to the site, and what may be wrong with them."""

import json
import re
import shutil
import zipfile
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from board_runs import asked_run
from command import merilo as command
from compared_pools import pools
from gold_sets import documents, gold_split, right_answer, write_gold, write_zip, wrong_answer
from harness_files import items_of, lm_eval_choice, written
from hostile_text import HOSTILE

import merilo
from merilo.datasets import dataset
from merilo.errors import UsageError
from merilo.items import Split, read_split
from merilo.metrics.score import total_score
from merilo.statistics.crossed_difference import NO_ANNOTATORS, crossed_difference
from merilo.statistics.paired_tests import holm

SIZES = {"parus": 120, "rcb": 90, "lcs": 60}

Tests = dict[str, tuple[Path, Split]]


@pytest.fixture(scope="module")
def tests(tmp_path_factory: pytest.TempPathFactory) -> Tests:
    folder = tmp_path_factory.mktemp("gold")
    splits = {name: gold_split(dataset(name), n) for name, n in SIZES.items()}
    write_gold(folder, {dataset(name).title: one for name, one in splits.items()})
    files = {path.stem.lower(): path for path in folder.iterdir()}
    return {name: (files[name], read_split(files[name])) for name in SIZES}


@pytest.fixture(scope="module")
def runs(tests: Tests, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five models; the last one has no answers to LCS."""
    folder = tmp_path_factory.mktemp("runs")
    for number, level in enumerate((0.95, 0.93, 0.7, 0.69, 0.4)):
        right = dict.fromkeys(SIZES, level)
        if number == 4:
            del right["lcs"]
        asked_run(
            folder / f"run-{number}",
            f"model-{number}",
            tests,
            right,
            seed=number,
            shots=number % 2 * 5,
            thought=number == 2,
        )
    return folder


def submission(path: Path, tests: Tests, wrong: int = 0, *, without: str = "", broken: str = "") -> Path:
    members = {}
    for name, (_, split) in tests.items():
        if name == without:
            continue
        first = {item.id for item in split.items[:wrong]}

        def answer(declared, item, first=first):
            return wrong_answer(declared, item) if item.id in first else right_answer(declared, item)

        rows = documents(dataset(name), split, answer)
        if name == broken:
            del rows[3]["outputs"]
            del rows[7]
        members[dataset(name).title] = rows
    return write_zip(path, members)


class Shown(HTMLParser):
    """The tags of a page, and the texts of its cells in rows."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.rows: list[list[str]] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        held = dict(attrs)
        if tag == "a":
            self.links.append(held["href"])
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")
        assert not [name for name in held if name.startswith("on")], attrs

    def handle_data(self, data):
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


def page(folder: Path, name: str = "index") -> Shown:
    return Shown((folder / f"{name}.html").read_text(encoding="utf-8"))


def test_runs_people_and_submissions_become_a_site(tests: Tests, runs: Path, tmp_path: Path) -> None:
    sent = tmp_path / "sent"
    sent.mkdir()
    submission(sent / "team-a.zip", tests, wrong=2)
    submission(sent / "team-b.zip", tests, without="lcs", broken="parus")
    (sent / "corrupted.zip").write_bytes((sent / "team-a.zip").read_bytes()[:900])
    with zipfile.ZipFile(sent / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("PARus.json", b"0" * (40 << 20))
    (sent / "notes.txt").write_text("not an archive")
    people = pools(tmp_path)
    gold = tests["lcs"][0].parent
    out = tmp_path / "site"
    words = ("leaderboard", runs, "--baselines", people, "--submissions", sent, "--gold", gold, "--out", out)
    done = command(*words, "--json", "-")
    assert done.status == 1  # three archives have faults
    told = [line for line in done.err.splitlines() if "zip" in line]
    assert len(told) == 3
    board = done.json
    assert json.loads((out / "leaderboard.json").read_text(encoding="utf-8")) == board

    names = [one["model"] for one in board["models"]]
    assert names[0] == "team-a"
    assert set(names) == {f"model-{one}" for one in range(5)} | {"team-a", "team-b"}
    rows = {one["model"]: one for one in board["models"]}
    # BPS has people and no model, so that it does not count in the total.
    assert board["total"] == ["lcs", "parus", "rcb"]
    for name in ("model-0", "team-a"):
        cells = rows[name]["datasets"]
        main = {key: [held[0] for held in cells[key]["metrics"].values()] for key in board["total"]}
        assert rows[name]["total"]["value"] == pytest.approx(total_score(main), abs=1e-3)
        low, high = rows[name]["total"]["ci95"]
        assert low < rows[name]["total"]["value"] < high
    for name, missing in (("model-4", ["lcs"]), ("team-b", ["lcs", "parus"])):
        total = rows[name]["total"]
        assert total["value"] is None
        assert total["rank"] is None
        assert total["missing"] == missing
    assert [rows[f"model-{one}"]["conditions"]["thinking"] for one in range(5)] == [
        False,
        False,
        True,
        False,
        False,
    ]
    assert rows["model-1"]["conditions"]["shots"] == 5

    # The simulated people answered other items of LCS than the models: that is told, and nothing is compared.
    assert "asked other items than the baseline" in rows["model-0"]["datasets"]["lcs"]["reason"]
    assert {one["dataset"] for one in board["people"]} == {"bps", "lcs"}
    assert all(one["verified"] == "no" and one["simulated"] for one in board["people"])

    overview = page(out)
    assert [row[0] for row in overview.rows if row[0].startswith(("model", "team-a"))]
    for link in overview.links:
        assert (out / link).is_file(), link
    faults = {one["file"]: one for one in board["archives"]}
    assert set(faults) == {"team-b.zip", "corrupted.zip", "bomb.zip"}
    assert faults["team-b.zip"]["datasets"] == {"LCS": 1, "PARus": 2}
    assert "larger than" in faults["bomb.zip"]["refused"]["en"]
    explained = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(out.glob("archive-*.json"))]
    (partly,) = (one for one in explained if one["file"] == "team-b.zip")
    kinds = {one["kind"] for one in partly["datasets"]["PARus"]["faults"]}
    assert kinds == {"no_outputs_field_for_doc", "no_id"}
    assert all(
        one["do"]["ru"] and one["do"]["en"] for held in partly["datasets"].values() for one in held["faults"]
    )


def test_the_same_inputs_give_the_same_bytes_and_one_more_run_adds_a_row(
    tests: Tests, runs: Path, tmp_path: Path
) -> None:
    own = tmp_path / "runs"
    shutil.copytree(runs, own)
    out, cache = tmp_path / "site", tmp_path / "cache"

    def made() -> tuple[dict[str, bytes], int]:
        board = merilo.leaderboard([own], cache=cache)
        board.save(out)
        return {path.name: path.read_bytes() for path in out.iterdir()}, board.made

    first, count = made()
    assert count == 5 + 14  # the records of the runs, and their datasets
    assert made() == (first, 0)
    assert merilo.leaderboard([own]).files() == first
    asked_run(own / "run-9", "model-9", tests, {"rcb": 0.5}, seed=9)
    after, count = made()
    assert count == 2
    before = {
        one["model"]: one["datasets"]["parus"] for one in json.loads(first["leaderboard.json"])["models"]
    }
    rows = {one["model"]: one for one in json.loads(after["leaderboard.json"])["models"]}
    assert rows.keys() == before.keys() | {"model-9"}
    assert {name: rows[name]["datasets"]["parus"] for name in before} == before
    # An answer that changes is scored again, though the file's size is the same.
    log = own / "run-9" / "log" / "rcb.jsonl"
    log.write_text(log.read_text().replace('"text":"1"', '"text":"2"', 1))
    assert made()[1] == 1
    # A stored result that was damaged is made again.
    held = next(path for path in cache.rglob("*.json") if path.name != "files.json")
    held.write_text("{")
    assert made()[1] == 1


def test_ranks_are_ranges_of_all_pairs_after_holm(tests: Tests, runs: Path) -> None:
    board = merilo.leaderboard([runs])
    rows = sorted(board.models, key=lambda row: row.name)
    scores = [row.model.datasets["parus"].score.points for row in rows]
    assert all(one is not None for one in scores)
    pairs = [(a, b) for a in range(5) for b in range(a + 1, 5)]
    p = holm([crossed_difference(scores[a], scores[b], NO_ANNOTATORS).p for a, b in pairs])  # type: ignore[arg-type]
    told = {pair for pair, one in zip(pairs, p, strict=True) if one <= 0.05}
    means = [float(np.mean(one)) for one in scores]  # type: ignore[arg-type]
    for at, row in enumerate(rows):
        others = [b if a == at else a for a, b in told if at in {a, b}]
        above = sum(means[one] > means[at] for one in others)
        assert row.ranks["parus"] == (1 + above, 5 - (len(others) - above))
    assert rows[0].ranks["parus"] == (1, 2)
    assert rows[4].ranks["parus"] == (5, 5)
    # RCB has two main metrics: its total is their mean, and ranks on its page are by the first.
    held = rows[0].model.datasets["rcb"].score
    assert held.points is not None
    assert held.of_total is not None
    assert held.points.mean() == pytest.approx(held.metrics["acc"][0])
    assert held.of_total.mean() == pytest.approx((held.metrics["acc"][0] + held.metrics["f1_macro"][0]) / 2)


def test_people_and_models_on_the_same_items_are_compared(tmp_path: Path) -> None:
    people = pools(tmp_path)
    tests = {
        name: (people / name / "test.json", read_split(people / name / "test.json"))
        for name in ("bps", "lcs")
    }
    for at, level in enumerate((1.0, 0.3)):
        asked_run(tmp_path / "runs" / str(at), f"m{at}", tests, {"bps": level, "lcs": level}, seed=at)
    merilo.report(people / "lcs" / "baseline", people / "hb")
    board = merilo.leaderboard([tmp_path / "runs"], baselines=people)
    # A published folder and the baseline that it publishes are one study.
    assert [(one.dataset.key, one.verified) for one in board.people] == [("bps", "no"), ("lcs", "verified")]
    worse = next(row for row in board.models if row.name == "m1")
    beside = {one.kind: one for one in worse.beside["lcs"]}
    alone = merilo.compare(people / "lcs" / "baseline", [tmp_path / "runs" / "1"]).comparisons["m1"].matches
    assert beside["consensus"].verdict.outcome == "below"
    assert {one.kind: one.interval for one in alone}["consensus"].low == pytest.approx(
        beside["consensus"].low
    )
    raw = [one.p for one in alone if one.kind == "consensus"]
    assert beside["consensus"].p >= raw[0]
    total = board.people_total()
    assert total.value == pytest.approx(sum(one.metrics["acc"].value for one in board.people) / 2)
    assert board.people_total(measured=False).value == pytest.approx((1.0 + 0.704) / 2)
    site = board.files()
    assert "↓" in Shown(site["index.html"].decode()).rows[-1][-1] + site["index.html"].decode()
    lcs = site["dataset-lcs.html"].decode()
    assert "recomputed from its raw answers" in lcs
    assert "MERA" in lcs


def test_models_of_one_name_have_rows_of_their_own(tests: Tests, tmp_path: Path) -> None:
    asked_run(tmp_path / "r" / "a", "same", tests, {"parus": 0.9}, seed=1)
    asked_run(tmp_path / "r" / "b", "same", tests, {"parus": 0.5}, seed=2)
    asked_run(tmp_path / "r" / "c", "parts", tests, {"parus": 0.9}, seed=3)
    asked_run(tmp_path / "r" / "d", "parts", tests, {"lcs": 0.9}, seed=4)
    asked_run(tmp_path / "r" / "e", "hot", tests, {"parus": 0.9}, seed=3, temperature=0.7)
    asked_run(tmp_path / "r" / "f", "hot", tests, {"lcs": 0.9}, seed=4)
    board = merilo.leaderboard([tmp_path / "r"])
    names = sorted(row.name for row in board.models)
    assert names == ["hot (e)", "hot (f)", "parts", "same (a)", "same (b)"]
    both = next(row for row in board.models if row.name == "parts")
    assert set(both.model.datasets) == {"lcs", "parus"}
    assert both.model.source == "c, d"
    # A run that is given twice is one row; a folder and its parent too.
    assert len(merilo.leaderboard([tmp_path / "r", tmp_path / "r" / "a"]).models) == 5


def test_the_options_of_an_organiser(tests: Tests, runs: Path, tmp_path: Path) -> None:
    options = tmp_path / "board.toml"
    options.write_text(
        'title = "Our <board>"\nlanguage = "ru"\nhidden = ["model-4", "run-3"]\ntotal = ["PARus", "rcb"]\n'
        '[names]\nrun-0 = "The best"\n[groups]\nshort = ["lcs"]\n',
        encoding="utf-8",
    )
    board = merilo.leaderboard([runs], options=options)
    assert sorted(row.name for row in board.models) == ["The best", "model-1", "model-2"]
    assert board.groups == {"": ("parus", "rcb"), "short": ("lcs",)}
    text = board.files()["index.html"].decode()
    assert "<h1>Our &lt;board&gt;</h1>" in text
    assert '<html lang="ru">' in text
    for content, place in (
        ("title = 3", "title"),
        ("hiden = []", "hiden"),
        ('hidden = "x"', "hidden"),
        ('language = "de"', "language"),
        ('groups = ["x"]', "groups"),
        ("names = {a = 1}", "names"),
        ("x = [", "TOML"),
    ):
        options.write_text(content, encoding="utf-8")
        done = command("leaderboard", runs, "--options", options, "--out", tmp_path / "site")
        assert done.status == 2
        assert place in done.complaint
        assert "board.toml" in done.complaint
    options.write_text('total = ["bps"]', encoding="utf-8")
    with pytest.raises(UsageError, match="no dataset 'bps'"):
        merilo.leaderboard([runs], options=options)


def test_no_text_of_a_run_an_archive_or_a_study_runs_as_script(tests: Tests, tmp_path: Path) -> None:
    hostile = [one for one in HOSTILE if "\ud800" not in one]
    file, split = tests["parus"]
    for at, name in enumerate(hostile):
        folder = asked_run(
            tmp_path / "r" / str(at), name, {"parus": (file, Split("test", split.items[:3]))}, {"parus": 0.5}
        )
        record = json.loads((folder / "run.json").read_text())
        record["datasets"]["parus"]["data"] = f"/nowhere/{name}" if at % 7 == 0 else str(file)
        (folder / "run.json").write_text(json.dumps(record))
    sent = tmp_path / "sent"
    sent.mkdir()
    for at, name in enumerate(("<img src=x onerror=alert(1)>", "' autofocus onfocus=alert(1) x='")):
        submission(sent / f"{name}{at}.zip", tests, without="lcs")
    out = tmp_path / "site"
    done = command(
        *(
            "leaderboard",
            tmp_path / "r",
            "--submissions",
            sent,
            "--gold",
            file.parent,
            "--out",
            out,
            "--cache",
            tmp_path / "c",
        )
    )
    assert done.status == 1
    clean = {"html", "head", "meta", "title", "style", "body", "input", "nav", "label", "main", "h1", "h2", "p", "a", "noscript",
             "form", "select", "option", "output", "div", "table", "thead", "tbody", "tr", "th", "td", "b", "small", "span",
             "code", "ul", "li", "script", "svg", "line", "circle", "text", "tspan"}  # fmt: skip
    seen = 0
    for path in out.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        shown = Shown(text)
        assert set(shown.tags) <= clean, set(shown.tags) - clean
        assert shown.tags.count("script") == 1
        assert all(re.fullmatch(r"[a-z0-9.-]+", link) for link in shown.links), shown.links
        seen += sum(name.strip() in "\n".join(row[0] for row in shown.rows if row) for name in hostile[:40])
    assert seen >= 70  # on the overview and on the dataset's page


def test_what_is_missing_or_wrong_is_told_in_one_sentence(tests: Tests, runs: Path, tmp_path: Path) -> None:
    out, empty, answers = tmp_path / "site", tmp_path / "empty", tmp_path / "answers.csv"
    empty.mkdir()
    answers.write_text("id,answer\n1,A\n")
    gold = tests["lcs"][0].parent
    for words, status, told in (
        ((empty,), 2, "holds no run"),
        ((tmp_path / "absent",), 2, "no such run or log"),
        ((answers,), 2, "is neither a run nor a log of"),
        ((runs, "--baselines", empty), 2, "holds no baseline"),
        ((runs, "--baselines", tmp_path / "absent"), 2, "no such folder"),
        ((runs, "--submissions", empty), 2, "--gold DIR"),
        ((runs, "--submissions", empty, "--gold", gold), 2, "holds no submission"),
        ((runs, "--submissions", tmp_path / "absent", "--gold", gold), 2, "no such folder of submissions"),
        ((runs, "--gold", tmp_path / "absent"), 2, "no such folder of tests"),
    ):
        done = command("leaderboard", *words, "--out", out)
        assert (done.status, told in done.complaint) == (status, True), done.err
        assert not out.exists()
    # A folder that holds something else is not replaced; an earlier board is.
    out.mkdir()
    (out / "precious").write_text("x")
    assert "exists already" in command("leaderboard", runs, "--out", out).complaint
    (out / "precious").unlink()
    out.rmdir()
    assert command("leaderboard", runs, "--out", out).status == 0
    assert command("leaderboard", runs, "--out", out).status == 0
    inside = shutil.copytree(runs / "run-0", out / "run-0")
    assert "overwritten together with the input" in command("leaderboard", inside, "--out", out).complaint


def test_closed_tests_and_lost_items_leave_a_reason_in_place_of_a_score(tests: Tests, tmp_path: Path) -> None:
    file, split = tests["parus"]
    closed = json.loads(file.read_text(encoding="utf-8"))
    for one in closed["data"]["test"]:
        one["outputs"] = ""
    place = tmp_path / "closed.json"
    place.write_text(json.dumps(closed, ensure_ascii=False), encoding="utf-8")
    asked_run(tmp_path / "r" / "closed", "closed", {"parus": (place, split)}, {"parus": 0.9})
    asked_run(tmp_path / "r" / "lost", "lost", {"parus": (tmp_path / "gone.json", split)}, {"parus": 0.9})
    board = merilo.leaderboard([tmp_path / "r"])
    reasons = {row.name: row.model.datasets["parus"].score.reason for row in board.models}
    assert "the test is closed" in reasons["closed"]
    assert "no longer there" in reasons["lost"]
    assert str(tmp_path) not in (page_text := board.files()["dataset-parus.html"].decode())
    assert "the test is closed" in page_text
    # The organiser's gold scores both.
    scored = merilo.leaderboard([tmp_path / "r"], gold=file.parent)
    assert all(row.model.datasets["parus"].score.metrics["acc"][0] > 0.8 for row in scored.models)
    assert all(row.ranks["parus"] == (1, 2) for row in scored.models)


def test_one_dataset_and_a_benchmark_of_ones_own(tmp_path: Path) -> None:
    own = tmp_path / "quiz"
    own.mkdir()
    (own / "dataset.yaml").write_text(
        "name: quiz\ntitle: Quiz of ours\nfields: [question]\nanswer: {kind: choice, labels: [A, B]}\nmetrics: [acc]\n"
    )
    items = [
        {
            "instruction": "{question}",
            "inputs": {"question": f"q{at}"},
            "outputs": "AB"[at % 2],
            "meta": {"id": at},
        }
        for at in range(60)
    ]
    (own / "test.json").write_text(json.dumps({"data": {"test": items}}))
    for respondent in ("gold", "random"):
        done = command(
            *(
                "run",
                "--model",
                respondent,
                "--shots",
                0,
                "--datasets",
                own,
                "--out",
                tmp_path / "runs" / respondent,
            )
        )
        assert done.status == 0, done.err
    sent = tmp_path / "sent"
    sent.mkdir()
    rows = [{"outputs": one["outputs"], "meta": {"id": one["meta"]["id"]}} for one in items]
    with zipfile.ZipFile(sent / "team.zip", "w") as archive:
        archive.writestr("quiz.json", json.dumps({"data": {"test": rows}}))
    board = merilo.leaderboard([tmp_path / "runs"], submissions=sent, gold=tmp_path)
    assert [one.title for one in board.datasets] == ["Quiz of ours"]
    assert [row.model.kind for row in board.models].count("submission") == 1
    assert {row.name: tuple(row.ranks["quiz"]) for row in board.models} == {
        "gold (built-in)": (1, 2),
        "team": (1, 2),
        "random (built-in)": (3, 3),
    }
    shown = Shown(board.files()["index.html"].decode())
    assert ["Quiz of ours" in cell for cell in shown.rows[0]] == [
        False,
        False,
        True,
    ]  # one dataset has no total


def test_the_published_values_alone_are_a_board(tmp_path: Path) -> None:
    assert command("leaderboard", "--out", tmp_path / "site").status == 0
    board = json.loads((tmp_path / "site" / "leaderboard.json").read_text(encoding="utf-8"))
    assert len(board["datasets"]) == 23
    assert board["people_total"]["published"]["of"] == len(board["total"]) == 15
    assert (tmp_path / "site" / "dataset-rcb.html").is_file()
    assert (
        "official statistics"
        in page(tmp_path / "site").rows[1][-1] + (tmp_path / "site" / "index.html").read_text()
    )


def test_items_of_the_same_ids_and_other_texts_are_not_paired(tests: Tests, tmp_path: Path) -> None:
    file, split = tests["parus"]
    other = gold_split(dataset("parus"), 120, seed=5)
    again = write_gold(tmp_path / "gold", {"PARus": other})
    second = next(again.iterdir())
    asked_run(tmp_path / "r" / "a", "a", {"parus": (file, split)}, {"parus": 1.0})
    asked_run(tmp_path / "r" / "b", "b", {"parus": (second, read_split(second))}, {"parus": 0.2})
    board = merilo.leaderboard([tmp_path / "r"])
    assert {row.name: tuple(row.ranks["parus"]) for row in board.models} == {"a": (1, 2), "b": (1, 2)}


def test_logs_of_other_harnesses_are_rows_and_broken_ones_are_explained(tests: Tests, tmp_path: Path) -> None:
    """One model answers two datasets in logs of lm-eval; the scores are those of `merilo score`."""

    def wrong(labels, item):
        return next(label for label in labels if label != item.outputs)

    logs, date = tmp_path / "logs", "2026-11-23T10-00-00.000000"
    logs.mkdir()
    results = {"model_name": "lab/model-a", "n-shot": {"parus": 5}}
    (logs / f"results_{date}.json").write_text(json.dumps(results), encoding="utf-8")
    for name in ("parus", "rcb"):
        labels = dataset(name).answer.labels
        items = [
            replace(one, instruction=" ".join(f"{{{field}}}" for field in one.inputs))
            for one in [*tests[name][1]][:40]
        ]
        written(
            logs / f"samples_{name}_{date}.jsonl",
            [
                lm_eval_choice(at, name, item, str(item.outputs) if at % 4 else wrong(labels, item))
                for at, item in enumerate(items)
            ],
        )
    stray = [lm_eval_choice(0, "parus", items_of("parus")[0], "1")]
    written(tmp_path / "stray.jsonl", stray)
    rows = (logs / f"samples_rcb_{date}.jsonl").read_text("utf-8")
    (tmp_path / "twice.jsonl").write_text(rows + rows, "utf-8")
    gold = tests["parus"][0].parent
    board = merilo.leaderboard([logs, tmp_path / "stray.jsonl", tmp_path / "twice.jsonl"], gold=gold)
    assert [(row.name, row.model.kind) for row in board.models] == [("lab/model-a", "log")]
    scored = merilo.score(logs / f"samples_parus_{date}.jsonl", dataset="parus", data=tests["parus"][0])
    value, n, low, high = board.models[0].model.datasets["parus"].score.metrics["acc"]
    expected = scored.metrics["acc"]
    assert expected.interval is not None
    assert (value, n, low, high) == (0.75, 40, expected.interval.low, expected.interval.high)
    assert value == expected.value
    told = {key: one.conditions.shots for key, one in board.models[0].model.datasets.items()}
    assert told == {"parus": 5, "rcb": None}
    reasons = {Path(one.name).name: one.reason.en for one in board.faulty if one.reason}
    assert "none of its rows belongs to an item of the tests" in reasons["stray.jsonl"]
    assert reasons["twice.jsonl"].startswith("row 41: ")
    page = (board.save(tmp_path / "board").parent / "index.html").read_text("utf-8")
    assert "log of another harness" in page
    explained = [json.loads(one.read_text("utf-8")) for one in (tmp_path / "board").glob("archive-*.json")]
    assert {one["refused"]["en"] for one in explained} == {*reasons.values()}
    with pytest.raises(UsageError, match="logs of other harnesses need gold"):
        merilo.leaderboard([logs])

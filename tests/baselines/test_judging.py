"""A judge in place of people: from the texts over a study and a model's run to the verdict and the corrected scores."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from accessibility import AccessibilityCheck
from browser import opened_browser
from command import Outcome
from command import merilo as command
from scripted_server import Answers, ScriptedServer

import merilo

TEXTS = 240
DECLARED = """\
name: texts
title: Texts
fields: [question, reply]
answer: {kind: choice, labels: [bad, good]}
metrics: [acc]
prompts: ["Question: {question}\\nReply: {reply}\\nIs the reply good or bad? Answer with one word."]
items: {file: texts.jsonl, id: id, meta: [system]}
"""

Chance = Callable[[int], float]


def good(number: int) -> bool:
    return number % 3 != 0


def replies(folder: Path) -> list[dict[str, str]]:
    """The texts of two systems, and their declaration."""
    rows = [
        {
            "id": f"t{number}",
            "question": f"Question {number}?",
            "reply": f"Reply {number}.",
            "system": "ab"[number // 2 % 2],
        }
        for number in range(TEXTS)
    ]
    folder.mkdir(exist_ok=True)
    (folder / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "texts.yaml").write_text(DECLARED)
    return rows


def judgements(
    folder: Path,
    *,
    texts: range = range(0, TEXTS, 2),
    people: int = 4,
    overlap: int = 3,
    error: float = 0.1,
    labels: tuple[str, ...] = ("bad", "good"),
    answer: Callable[[int, np.random.Generator], int] | None = None,
) -> Path:
    """The baseline of people who judged every second text, and are wrong with this probability."""
    random = np.random.default_rng(1)
    rows = []
    for number in texts:
        for person in random.permutation(people)[:overlap]:
            code = answer(number, random) if answer else int(good(number) ^ (random.random() < error))
            rows.append((f"t{number}", f"p{person}", labels[code]))
    table = pl.DataFrame(rows, schema=["id", "annotator", "answer"], orient="row")
    merilo.baseline(merilo.read_responses(table)).save(folder / "people")
    return folder / "people"


def judge_file(folder: Path, answer: Callable[[int], str | None]) -> Path:
    path = folder / "judge.csv"
    given = [(f"t{number}", answer(number)) for number in range(TEXTS)]
    pl.DataFrame(
        [row for row in given if row[1] is not None], schema=["id", "answer"], orient="row"
    ).write_csv(path)
    return path


def lenient(number: int) -> str:
    return "good" if good(number) or number % 15 == 0 else "bad"


def judged(people: Path, judge: Path, *more: object) -> Outcome:
    return command("judge", people, "--judge", judge, *more)


def test_from_texts_over_a_study_and_a_models_run_to_the_corrected_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows_of_texts = replies(tmp_path)
    wished = ("--audience", "basic", "--size", 120, "--overlap", 3)
    assert command("study", "create", "texts.yaml", "--out", "study", *wished).status == 0
    assert command("study", "export", "study", "--platform", "csv", "--out", "tasks").status == 0
    with Path("tasks/tasks.csv").open(encoding="utf-8-sig") as stream:
        tasks = list(csv.DictReader(stream))
    random = np.random.default_rng(2)
    rows = []
    for task in tasks:
        number = int(task["prompt"].split()[2].rstrip("?"))
        for person in random.permutation(4)[:3]:
            label = "good" if good(number) ^ (random.random() < 0.1) else "bad"
            rows.append({**task, "respondent": f"p{person}", "answer": label, "page": f"{person}"})
    with Path("answers.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    assert command("study", "import", "study", "answers.csv").status == 0
    assert command("study", "baseline", "study", "--out", "people").status == 0
    with ScriptedServer(lambda asked: Answers(lenient(int(asked.text.split()[2].rstrip("?"))))) as server:
        arguments = f"model=judge-1,base_url={server.url}"
        words = ("--model", "openai-chat-completions", "--model-args", arguments)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        done = command("run", *words, "--datasets", "texts.yaml", "--out", "run")
        assert done.status == 0, done.err
    points = ("--points", "good=1", "--points", "bad=0")
    done = judged(Path("people"), Path("run"), "--by", "system", *points, "--json", "-")
    assert done.status == 0, done.err
    found = done.json
    assert (found["judge"], found["status"], found["reasons"]) == ("judge-1", "accepted", [])
    assert found["texts"] == {"total": TEXTS, "with_people": 120, "without_answer": 0}
    assert found["test"]["winning_rate"] >= 0.5
    every, *systems = found["scores"]
    assert [one["group"] for one in (every, *systems)] == [None, "a", "b"]
    assert [one["texts"] for one in systems] == [120, 120]
    # People say "good" of 0.9 of 160 good texts and 0.1 of the other 80; the judge of all good ones and 16 others.
    true = (160 * 0.9 + 80 * 0.1) / 240
    assert every["judge"] == pytest.approx(176 / 240, abs=1e-6)
    low, high = every["corrected"]["ci95"]
    assert low < true < high
    # Both systems have as many good texts.
    assert systems[0]["beside_first"] is None
    low, high = systems[1]["beside_first"]["ci95"]
    assert low < 0 < high
    assert every["corrected"]["value"] == pytest.approx(true, abs=0.04)
    assert every["judge_minus_people"]["ci95"][0] > 0
    # The library and the command tell the same.
    result = merilo.judge("people", "run", by="system", points={"good": 1, "bad": 0})
    assert json.loads(json.dumps(result.to_dict())) == found
    assert "judge-1: accepted" in repr(result)
    table = command("judge", "people", "--judge", "run", *points).out
    assert "judge-1 in place of each annotator" in table
    assert "all texts" in table
    by_system = command("judge", "people", "--judge", "run", "--by", "system", *points).out
    assert "b minus a: " in by_system
    # A mapping and a table of the judge's answers are as good as its run.
    given = {str(row["id"]): lenient(number) for number, row in enumerate(rows_of_texts)}
    for answers in (given, pl.DataFrame({"id": [*given], "answer": [*given.values()]})):
        again = merilo.judge(
            "people", {"judge-1": answers}, data="texts.jsonl", by="system", points={"good": 1, "bad": 0}
        )
        assert again.to_dict()["scores"] == result.to_dict()["scores"]


def test_a_judge_at_random_is_refused_with_the_winning_rate(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    done = judged(
        judgements(tmp_path), judge_file(tmp_path, lambda _: random.choice(["good", "bad"])), "--json", "-"
    )
    assert done.status == 1
    assert (
        "judge is refused: judge represents people at least as well as one of them does for 0 of 4"
        in done.complaint
    )
    assert "winning rate 0.00, at least 0.50 needed at epsilon 0.1" in done.complaint
    found = done.json
    assert found["status"] == "refused"
    assert [one["label"] for one in found["scores"]] == ["bad", "good"]
    assert all(one["corrected"] is None and one["people"] is not None for one in found["scores"])


def test_the_page_shows_the_corrected_score_beside_the_judge_or_the_refusal(tmp_path: Path) -> None:
    labels = ("bad", "good<script>")
    people = judgements(tmp_path, labels=labels)
    page = tmp_path / "page.html"
    good_judge = judge_file(tmp_path, lambda n: labels[int(lenient(n) == "good")])
    points = ("--points", "bad=0", "--points", "good<script>=1")
    done = judged(people, good_judge, *points, "--out", page, "--json", "-")
    assert done.status == 0, done.err
    html = page.read_text()
    assert "<script" not in html
    assert "may judge in place of people" in html
    assert "может судить вместо людей" in html
    (score,) = done.json["scores"]
    corrected = score["corrected"]
    low, high = corrected["ci95"]
    assert f"{corrected['value']:.3f} [{low:.3f}, {high:.3f}]" in html
    assert f"{score['judge']:.3f}" in html
    again = judged(people, good_judge, *points, "--out", page)
    assert "exists" in again.err
    assert "--force" in again.err
    random = np.random.default_rng(3)
    bad = judge_file(tmp_path, lambda _: str(random.choice(labels)))
    refused = judged(people, bad, "--out", page, "--force")
    assert refused.status == 1
    html = page.read_text()
    assert "refused as a judge" in html
    assert "winning rate 0.00, at least 0.50 needed" in html
    assert "good&lt;script&gt;" in html
    wrong = judged(people, bad, "--out", tmp_path / "page.txt")
    assert (wrong.status, "ends in .html" in wrong.err) == (2, True)


@pytest.mark.thorough
def test_the_page_is_accessible_and_fits_a_phone(tmp_path: Path) -> None:
    people = judgements(tmp_path)
    out = tmp_path / "page.html"
    assert judged(people, judge_file(tmp_path, lenient), "--out", out).status == 0
    with opened_browser() as browser:
        page = browser.new_page(viewport={"width": 390, "height": 800})
        page.goto(out.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        check = AccessibilityCheck()
        check(page, "English")
        page.click("label[for=in-ru]")
        check(page, "Russian")
        # The radio buttons of the languages stand before the landmarks, as on every page of a report.
        check.found = [one for one in check.found if "region, All page content" not in one]
        check.passed(2)
        page.close()


def test_few_annotators_or_texts_cannot_be_tested(tmp_path: Path) -> None:
    judge = judge_file(tmp_path, lenient)
    two = judgements(tmp_path / "two", people=2, overlap=2)
    done = judged(two, judge, "--json", "-")
    assert done.status == 1
    assert (
        "2 annotators judged 30 or more texts that another annotator judged too, and the test needs 3"
        in done.err
    )
    assert all(one["people"] is None for one in done.json["scores"])
    short = judged(judgements(tmp_path / "short", texts=range(0, 40, 2)), judge)
    assert short.status == 1
    assert "0 annotators judged 30 or more texts" in short.err


def test_people_who_agree_by_chance_can_be_replaced_by_nobody(tmp_path: Path) -> None:
    people = judgements(tmp_path, error=0.5)
    random = np.random.default_rng(4)
    done = judged(people, judge_file(tmp_path, lambda _: random.choice(["good", "bad"])), "--epsilon", 0.5)
    assert done.status == 1
    assert "do not agree with each other beyond chance" in done.err


def test_a_part_of_the_texts_chosen_by_a_field_is_refused_and_allowed_with_strata(tmp_path: Path) -> None:
    replies(tmp_path)
    # Of system a two texts in three, of system b one in four.
    random = np.random.default_rng(8)
    chosen = [n for n in range(TEXTS) if random.random() < (0.67 if n // 2 % 2 == 0 else 0.25)]
    people = judgements(tmp_path, texts=chosen)  # type: ignore[arg-type]
    judge = judge_file(tmp_path, lenient)
    data = ("--data", tmp_path / "texts.jsonl", "--points", "good=1", "--points", "bad=0")
    done = judged(people, judge, *data)
    assert done.status == 1
    assert "their shares of the values of system differ" in done.complaint
    assert "with --by system, each value has its share of all texts" in done.complaint
    strata = judged(people, judge, *data, "--by", "system", "--json", "-")
    assert strata.status == 0, strata.err
    every, *systems = strata.json["scores"]
    mean = np.mean([one["corrected"]["value"] for one in systems])
    assert every["corrected"]["value"] == pytest.approx(mean, abs=0.02)


def test_grades_and_numbers_are_their_own_points(tmp_path: Path) -> None:
    grades = ("1", "2", "3", "4", "5")

    def grade(number: int, random: np.random.Generator) -> int:
        return int(np.clip(number % 5 + random.integers(-1, 2), 0, 4))

    people = judgements(tmp_path, labels=grades, answer=grade)
    done = judged(
        people, judge_file(tmp_path, lambda n: str(min(n % 5 + 2, 5))), "--epsilon", 0.2, "--json", "-"
    )
    found = done.json
    (score,) = found["scores"]
    assert score["label"] is None
    assert score["judge"] == pytest.approx(np.mean([min(n % 5 + 2, 5) for n in range(TEXTS)]), abs=1e-6)
    low, high = score["people"]["ci95"]
    assert low < 3 < high
    assert low >= 1
    assert high <= 5
    exact = judged(people, judge_file(tmp_path, lambda n: f"{n % 5 + 1}.0"), "--json", "-")
    assert exact.status == 0, exact.err
    (score,) = exact.json["scores"]
    assert score["corrected"]["value"] == pytest.approx(3, abs=0.1)
    assert score["weight"] > 0.4
    assert exact.json["points"] == {"1": 1, "2": 2, "3": 3, "4": 4, "5": 5}


def test_pairs_give_each_system_the_points_of_its_pairs(tmp_path: Path) -> None:
    """The first text wins in two thirds of pairs; systems x and y stand first in turn, so each wins as often."""
    random = np.random.default_rng(5)
    rows = [{"id": f"t{n}", "first": "xy"[n // 6 % 2], "second": "yx"[n // 6 % 2]} for n in range(TEXTS)]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def preferred(number: int, random: np.random.Generator) -> int:
        return 2 if random.random() < 0.1 else int(not good(number))

    people = judgements(tmp_path, labels=("A", "B", "tie"), answer=preferred)
    judge = judge_file(tmp_path, lambda n: "A" if good(n) else "tie" if random.random() < 0.1 else "B")
    points = ("--points", "A=1", "--points", "tie=0.5", "--points", "B=0", "--data", tmp_path / "pairs.jsonl")
    done = judged(people, judge, *points, "--pair", "first", "--pair", "second", "--json", "-")
    assert done.status == 0, done.err
    x, y = done.json["scores"]
    assert (x["group"], y["group"]) == ("x", "y")
    assert x["corrected"]["value"] + y["corrected"]["value"] == pytest.approx(1, abs=1e-5)
    assert x["corrected"]["value"] == pytest.approx(0.5, abs=0.06)
    # Without systems, the scores are the shares of the labels, whose sum is 1.
    shares = judged(people, judge, "--json", "-").json["scores"]
    assert [one["label"] for one in shares] == ["A", "B", "tie"]
    assert sum(one["corrected"]["value"] for one in shares) == pytest.approx(1, abs=1e-5)
    one = judged(people, judge, *points, "--pair", "first")
    assert (one.status, "takes two fields" in one.complaint) == (2, True)
    both = judged(people, judge, *points, "--pair", "first", "--pair", "second", "--by", "first")
    assert (both.status, "give either --by or --pair" in both.complaint) == (2, True)


def test_texts_are_found_by_their_fields_if_the_baseline_has_no_ids(tmp_path: Path) -> None:
    rows = replies(tmp_path)
    random = np.random.default_rng(6)
    given = [
        (row["question"], row["reply"], f"p{person}", "good" if good(n) ^ (random.random() < 0.1) else "bad")
        for n, row in enumerate(rows)
        if n % 2 == 0
        for person in random.permutation(4)[:3]
    ]
    table = pl.DataFrame(given, schema=["question", "reply", "annotator", "answer"], orient="row")
    table.write_csv(tmp_path / "judgements.csv")
    done = command(
        *("baseline", tmp_path / "judgements.csv", "--item", "question", "--item", "reply"),
        *("--dataset", tmp_path / "texts.yaml", "--out", tmp_path / "people"),
    )
    assert done.status == 0, done.err
    found = judged(
        tmp_path / "people", judge_file(tmp_path, lenient), "--data", tmp_path / "texts.jsonl", "--json", "-"
    )
    assert found.status == 0, found.err
    assert found.json["texts"]["with_people"] == 120


def test_a_judge_that_says_nothing_about_texts_loses_them_and_the_score_stays_unbiased(
    tmp_path: Path,
) -> None:
    people = judgements(tmp_path, error=0.02)
    judge = tmp_path / "judge.csv"
    rows = [(f"t{n}", "" if n % 10 == 0 else lenient(n)) for n in range(TEXTS)]
    pl.DataFrame(rows, schema=["id", "answer"], orient="row").write_csv(judge)
    done = judged(people, judge, "--epsilon", 0.3, "--json", "-")
    assert "gave no answer to 24 texts of 240" in done.err
    found = done.json
    assert found["texts"]["without_answer"] == 24
    assert all(one["judge"] < 0.9 for one in found["test"]["annotators"])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--points", "good=x"], "--points: takes LABEL=POINTS with a number, not 'good=x'"),
        (["--points", "good"], "--points: takes LABEL=POINTS with a number, not 'good'"),
        (["--points", "good=nan"], "--points: takes LABEL=POINTS with a number, not 'good=nan'"),
        (["--points", "good=1"], "--points: give the points of 'bad' too"),
        (["--by", "system"], "--by: the fields of the texts are not known: give --data FILE"),
        (["--epsilon", "1"], "--epsilon must be less than 1"),
        (["--pair", "a", "--pair", "b"], "--pair: needs the points of the labels: --points"),
    ],
)
def test_wrong_options_are_told(tmp_path: Path, words: list[str], told: str) -> None:
    done = judged(judgements(tmp_path), judge_file(tmp_path, lenient), *words)
    assert done.status == 2
    assert told in done.complaint


def test_wrong_files_are_told(tmp_path: Path) -> None:
    people, judge = judgements(tmp_path), judge_file(tmp_path, lenient)
    replies(tmp_path)
    other = tmp_path / "other.csv"
    other.write_text("id,answer\nx1,good\nx2,bad\n")
    empty = tmp_path / "empty.csv"
    empty.write_text("id,answer\n")
    few = tmp_path / "few.csv"
    few.write_text("id,text\nt0,a\n")
    bare = tmp_path / "bare.csv"
    bare.write_text("text\na\n")
    data = ("--data", tmp_path / "texts.jsonl")
    for arguments, status, told in (
        ((tmp_path, judge), 2, "baseline.json is missing"),
        ((people, tmp_path / "none.csv"), 2, "there is no such file"),
        ((people, other), 1, "none of the judge's texts"),
        ((people, empty), 2, "no answers"),
        (
            (people, judge, "--data", few),
            2,
            "has not all texts that the judge answered: 239 of 240 are missing",
        ),
        ((people, judge, "--data", bare), 2, "has no column of ids"),
        ((people, judge, *data, "--by", "sytem"), 2, "there is no field 'sytem' (did you mean 'system'?"),
        ((people, judge, *data, "--cluster", "nothing"), 2, "there is no field 'nothing'"),
    ):
        done = judged(*arguments)
        assert done.status == status, done.err
        assert told in done.err


def test_people_who_often_disagree_make_a_note_and_no_refusal(tmp_path: Path) -> None:
    people = judgements(tmp_path, texts=range(TEXTS), overlap=2, error=0.25)
    done = judged(people, judge_file(tmp_path, lenient), "--json", "-")
    assert done.status == 0, done.err
    (note,) = done.json["notes"]
    assert note.startswith("the baseline of people is rejected (")
    assert note.endswith("the scores here are means of single judgements, which need no majority")


def test_free_texts_are_no_judgements(tmp_path: Path) -> None:
    random = np.random.default_rng(9)
    rows = [(f"t{n}", f"p{p}", f"text {random.integers(99)}") for n in range(40) for p in range(3)]
    table = pl.DataFrame(rows, schema=["id", "annotator", "answer"], orient="row")
    merilo.baseline(merilo.read_responses(table)).save(tmp_path / "people")
    judge = judge_file(tmp_path, lambda n: f"text {n % 99}")
    done = judged(tmp_path / "people", judge)
    assert done.status == 1
    assert "different answers, which are neither numbers nor up to 20 labels" in done.complaint


def test_clusters_widen_the_interval(tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    rows = [{"id": f"t{n}", "topic": f"q{n // 8}"} for n in range(TEXTS)]
    (tmp_path / "topics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    of_topic = random.random(TEXTS // 8) < 0.6

    def answer(number: int, random: np.random.Generator) -> int:
        return int(of_topic[number // 8] ^ (random.random() < 0.1))

    people = judgements(tmp_path, answer=answer)
    judge = judge_file(tmp_path, lambda n: ["bad", "good"][int(of_topic[n // 8])])
    data = ("--data", tmp_path / "topics.jsonl", "--json", "-")
    widths = []
    for more in ((), ("--cluster", "topic")):
        score = judged(people, judge, *data, *more).json["scores"][0]
        low, high = score["people"]["ci95"]
        widths.append(high - low)
    assert widths[1] > 1.3 * widths[0]


def test_the_names_of_hostile_labels_do_not_control_the_terminal(tmp_path: Path) -> None:
    labels = ("bad\x1b[2J", "good<script>")
    people = judgements(tmp_path, labels=labels)
    done = judged(people, judge_file(tmp_path, lambda n: labels[int(good(n))]))
    assert "\x1b" not in done.out + done.err
    assert done.status == 0

"""`merilo code score`: the contract, bad input, and what a killed run leaves behind."""

import json
import os
import platform
import re
import select
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from command import Outcome, merilo
from ended_process import ended_process
from exports import write_items, write_lines
from programming import ENDINGS, check_row, completion, item, need_a_jail

from merilo.metrics.pass_at_k import pass_at_k
from merilo.sandbox.doctor import descendants
from merilo.sandbox.interpreter import interpreter
from merilo.strict_json import read_json

RIGHT, WRONG = "    return 2 * x\n", "    return x\n"


@pytest.fixture(scope="module", autouse=True)
def jail():
    need_a_jail()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_items(tmp_path / "problems.json", item(1), item(2))


def score(path: Path, data: Path, *words: object) -> Outcome:
    return merilo("code", "score", path, "--data", data, "--workers", 2, *words)


def generations(right_of_one: int, right_of_two: int, n: int = 10) -> list[dict]:
    return [
        completion(number, (RIGHT if index < right else WRONG) + f"    # {index}\n    pass\n")
        for number, right in ((1, right_of_one), (2, right_of_two))
        for index in range(n)
    ]


def scored(folder: Path, data: Path, rows: list[dict], *words: object) -> Outcome:
    """What the command says of these completions."""
    return score(write_lines(folder / "c.jsonl", *rows), data, *words)


def test_pass_at_k_stands_with_its_interval_and_its_problems(tmp_path, data):
    done = scored(tmp_path, data, generations(3, 10), "-k", "1,5", "--k", "5,10", "--json", "-")
    assert done.status == 0
    assert done.json["provenance"]["parameters"]["k"] == "1,5,10"
    assert list(done.json["metrics"]) == ["pass@1", "pass@5", "pass@10"]
    for k in (1, 5, 10):
        figure = done.json["metrics"][f"pass@{k}"]
        assert (figure["value"], figure["n"]) == (pytest.approx((pass_at_k(10, 3, k) + 1) / 2), 2)
        low, high = figure["ci95"]
        assert low <= figure["value"] <= high
    first, second = done.json["per_problem"]
    assert (first["id"], first["generations"], first["passed"]) == (1, 10, 3)
    assert first["outcomes"] == {"wrong_answer": 7, "passed": 3}
    assert second["pass@1"] == 1.0
    assert done.json["generations"] == done.json["programs"] == 20
    assert done.json["refused"] == {}


@pytest.mark.thorough
@pytest.mark.parametrize("name", [1, "HumanEval/0"], ids=["calls", "check"])
def test_every_way_to_end_is_told_from_the_others_and_counted(tmp_path, data, name):
    out = tmp_path / "out"
    checks = write_lines(tmp_path / "HumanEval.jsonl", check_row("HumanEval/0"))
    rows = [completion(name, text) for text, _, _ in ENDINGS]
    problems = write_items(data, item(1)) if name == 1 else checks
    done = scored(tmp_path, problems, rows, "--memory", 256, "--timeout", 3, "--out", out, "--json", "-")
    assert done.status == 0
    lines = [json.loads(line) for line in (out / "generations.jsonl").read_text().splitlines()]
    for (text, result, error), line in zip(ENDINGS, lines, strict=True):
        assert line["result"] == result, text
        assert not error or line["error"] == error, text
    assert (done.json["outcomes"]["passed"], done.json["outcomes"]["too_long"]) == (2, 1)
    assert done.json["exceptions"] == {"ValueError": 1, "NameError": 1}
    assert done.json["rules"]["fenced: function"] == 1
    assert done.json["retries"] == {"timeouts": 1, "timeouts_passed": 0}
    assert done.json["warnings"] == ["completions longer than 1000000 characters count as failed: 1 (row 15)"]
    assert done.json["provenance"]["parameters"]["timeout"] == 3.0
    assert [entry["sha256"] for entry in done.json["provenance"]["inputs"]]


def test_people_get_a_table_in_which_repeated_programs_count_as_samples(tmp_path, data):
    done = scored(tmp_path, data, generations(1, 1, 2), "--per-problem")
    assert done.status == 0
    assert all(words in done.out for words in ("pass@1", "0.500", "wrong answer 1"))
    assert not any(words in done.out for words in ("pass@5", "without code", "repeated"))
    rows = [completion(number, text) for number in (1, 2) for text in (RIGHT, RIGHT, RIGHT, WRONG)]
    assert "4 duplicates within a problem" in scored(tmp_path, data, rows).out
    done = scored(tmp_path, data, rows, "--json", "-")
    assert (done.json["repeated"], done.json["programs"], done.json["generations"]) == (4, 4, 8)
    assert done.json["metrics"]["pass@1"]["value"] == 0.75


def test_a_prompt_needs_no_docstring_and_its_functions_are_there_for_the_program_and_the_check(tmp_path):
    before = "def half(x):\n    return x / 2\n\n\n"
    prompts = ["def double(x):", "def double(x):\n    # twice\n", f"{before}@staticmethod\ndef double(x):\n"]
    rows = [check_row(str(number)) | {"prompt": prompt} for number, prompt in enumerate(prompts)]
    rows[2]["test"] = "def check(candidate):\n    assert double(half(2)) == candidate(1) == 2\n"
    data = write_lines(tmp_path / "HumanEval.jsonl", *rows)
    texts = ["    return 2 * x\n", "return 2 * x", "```python\ndef double(x):\n    return 4 * half(x)\n```"]
    done = scored(tmp_path, data, [completion(f"{n}", text) for n, text in enumerate(texts)], "--json", "-")
    assert (done.json["warnings"], done.json["metrics"]["pass@1"]["value"]) == ([], 1.0)


@pytest.mark.parametrize("name", ["[/red]", "\x1b[31mx\x07", "x\ny"])
def test_names_that_a_file_or_a_program_gives_are_shown_as_they_are_and_steer_no_terminal(tmp_path, name):
    data = write_lines(tmp_path / "problems.jsonl", check_row(name), check_row("other"))
    raising = f"    raise type({name!r}, (Exception,), {{}})()\n"
    path = write_lines(tmp_path / "c.jsonl", completion(name, RIGHT), completion("other", raising))
    done = score(path, data, "--per-problem")
    assert (done.status, done.err) == (0, "")
    shown = "".join(letter if letter.isprintable() else " " for letter in name)
    assert f"({shown.rstrip()} 1)" in done.out
    assert f"\n{shown.strip()} " in done.out
    assert "\x1b" not in done.out


def test_a_k_with_too_few_generations_is_refused_and_the_others_are_answered(tmp_path, data):
    done = scored(tmp_path, data, generations(3, 10)[:-4], "-k", "1,5,10", "--json", "-")
    assert done.status == 1
    assert list(done.json["metrics"]) == ["pass@1", "pass@5"]
    sentence = "pass@10 needs 10 generations of every problem, but 1 of 2 problems have fewer (problem 2: 6)"
    assert done.json["refused"] == {"pass@10": sentence}
    assert done.complaint == f"merilo: {sentence}"


def test_the_recorded_command_gives_the_same_score_again(tmp_path, data):
    rows = [completion(1, RIGHT), completion(1, WRONG)] * 3
    words = ["--partial", "-k", "2", "--timeout", "7", "--memory", "300", "--workers", "1", "--json", "-"]
    first = scored(tmp_path, data, rows, *words)
    assert (first.status, first.json["metrics"]["pass@2"]["n"]) == (0, 1)
    assert first.complaint == "merilo: there are no completions for 1 of 2 problems (2); they are left out"
    program, *command = shlex.split(first.json["provenance"]["command"])
    assert program == "merilo"
    again = merilo(*command, "--json", "-")
    assert again.json | {"seconds": 0} == first.json | {"seconds": 0}
    assert again.json["metrics"]["pass@2"]["value"] == pytest.approx(0.8)


@pytest.fixture
def drawn(tmp_path: Path) -> Path:
    """Problems whose checks draw at random whether double(x) must be 2 * x or 3 * x."""
    check = "def check(candidate):\n    import random\n    assert candidate(1) == random.choice((2, 3))\n"
    rows = [check_row(f"HumanEval/{number}") | {"test": check} for number in range(12)]
    return write_lines(tmp_path / "HumanEval.jsonl", *rows)


def passed(done: Outcome) -> list[int]:
    return [one["passed"] for one in done.json["per_problem"]]


@pytest.mark.thorough
def test_random_tests_are_drawn_anew_for_each_job_and_repeated_by_their_seed(tmp_path, drawn):
    rows, out = [completion(f"HumanEval/{number}", RIGHT) for number in range(12)], tmp_path / "out"
    first = scored(tmp_path, drawn, rows, "--out", out, "--json", "-")
    seed = first.json["provenance"]["parameters"]["judge_seed"]
    words = shlex.split(first.json["provenance"]["command"])
    assert (len(seed), words[words.index("--judge-seed") + 1]) == (32, seed)
    path, verdicts = tmp_path / "c.jsonl", out / "verdicts.jsonl"
    again = score(path, drawn, "--judge-seed", seed, "--json", "-")
    assert passed(again) == passed(first)
    results = {tuple(passed(score(path, drawn, "--judge-seed", n, "--json", "-"))) for n in range(4)}
    assert len(results) > 1
    assert score(path, drawn, "--json", "-").json["provenance"]["parameters"]["judge_seed"] != seed
    # A job that goes on draws the tests of its beginning.
    verdicts.write_bytes(b"".join(verdicts.read_bytes().splitlines(keepends=True)[:4]))
    again = score(path, drawn, "--out", out, "--json", "-")
    assert (again.json["resumed"], passed(again)) == (3, passed(first))
    done = score(path, drawn, "--out", out, "--judge-seed", "another")
    assert (done.status, 'and is now "another"; choose another folder' in done.complaint) == (2, True)


def test_long_wrong_answers_take_no_room_unless_they_are_asked_for(tmp_path, data):
    long = "    return chr(1) * 400_000\n"
    rows = [completion(n, f"{long}    # {i}\n    pass\n") for n in (1, 2) for i in range(5)]
    path = write_lines(tmp_path / "c.jsonl", *rows)
    small, whole, outputs = tmp_path / "small", tmp_path / "whole", tmp_path / "o.json"
    assert score(path, data, "--out", small).status == 0
    assert sum(file.stat().st_size for file in small.iterdir()) < 50_000
    done = score(path, data, "--out", small, "--outputs", outputs)
    assert (done.status, 'answers was "shortened" and is now "whole"' in done.complaint) == (2, True)
    assert score(path, data, "--out", whole, "--outputs", outputs).status == 0
    kept = outputs.read_bytes()
    assert read_json(outputs)["data"]["test"][0]["outputs"][0] == ["\x01" * 400_000] * 2
    assert score(path, data, "--out", whole).status == 0
    assert score(path, data, "--out", whole, "--outputs", outputs).status == 0
    assert outputs.read_bytes() == kept


# Programs that people wrote.


def by(name: object, number: int, text: str, field: str = "annotator") -> dict:
    return completion(number, text) | {field: name}


PEOPLE = [
    by("Anna", 1, RIGHT), by("Anna", 2, RIGHT), by("Boris", 1, RIGHT), by("Boris", 2, WRONG),
    by("Vera", 1, "    return ("), by("Vera", 2, WRONG),
]  # fmt: skip


@pytest.mark.parametrize("field", ["annotator", "respondent"])
def test_programs_of_people_are_samples_of_their_problems_and_grouped_by_person(tmp_path, data, field):
    rows = [{field if key == "annotator" else key: value for key, value in row.items()} for row in PEOPLE]
    done = scored(tmp_path, data, rows, "-k", "1,3", "--json", "-")
    assert done.status == 0
    assert done.json["metrics"]["pass@1"]["value"] == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert done.json["metrics"]["pass@3"]["value"] == 1.0
    found = done.json["annotators"]
    people = [(one["annotator"], one["problems"], one["solved"], one["share"]) for one in found["people"]]
    assert people == [("Anna", 2, 2, 1.0), ("Boris", 2, 1, 0.5), ("Vera", 2, 0, 0.0)]
    assert (found["count"], found["single_person"]["value"]) == (3, pytest.approx(0.5))
    low, high = found["single_person"]["ci95"]
    assert 0 <= low < 0.5 < high <= 1
    low, high = found["people"][1]["ci95"]
    assert 0 < low < 0.5 < high < 1


def test_people_have_shares_of_their_own_problems_and_many_fit_on_the_terminal(tmp_path, data):
    rows = [by("Anna", 1, RIGHT), by("Anna", 2, WRONG), by(7, 1, RIGHT)]
    found = scored(tmp_path, data, rows, "--json", "-").json["annotators"]["people"]
    assert [(one["annotator"], one["share"]) for one in found] == [("7", 1.0), ("Anna", 0.5)]
    shown = scored(tmp_path, data, rows).out
    assert all(words in shown for words in ("single person", "1.000, solved 1 of 1", "0.500, solved 1 of 2"))
    rows = [by(f"[red]p{n}", number, RIGHT) for n in range(23) for number in (1, 2)]
    shown = scored(tmp_path, data, rows).out
    assert (shown.count("[red]p"), "3 more in the JSON" in shown) == (20, True)
    assert len(scored(tmp_path, data, rows, "--json", "-").json["annotators"]["people"]) == 23


def test_the_documented_lines_make_completions_of_a_crowd_export(tmp_path, data, monkeypatch):
    page = (Path(__file__).resolve().parents[2] / "docs" / "code.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (lines,) = (text for text in blocks if "people.jsonl" in text)
    export = [
        "INPUT:id\tOUTPUT:code\tGOLDEN:code\tASSIGNMENT:worker_id",
        '1\t"    y = 2 * x\n    return y"\t\tAnna',
        "2\t    return x\t\tAnna",
        "\t\t\t",
        "1\t\t\tBoris",
        "2\t    return x + x\t\tBoris",
        "2\t    return x\t\tBoris",  # a second answer of the same person
        "1\tcontrol\tcontrol\tVera",
    ]
    (tmp_path / "assignments.tsv").write_text("\n".join(export) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    exec(lines, {})
    people = score(tmp_path / "people.jsonl", data, "--partial", "--json", "-").json["annotators"]["people"]
    found = [(one["annotator"], one["problems"], one["solved"]) for one in people]
    assert found == [("Anna", 2, 1), ("Boris", 2, 1)]


def test_closed_problems_are_run_for_their_outputs_alone_which_may_go_into_a_pipe(tmp_path):
    data = write_items(tmp_path / "problems.json", item(1, outputs=()))
    path, outputs, pipe = (tmp_path / name for name in ("c.jsonl", "ruHumanEval.json", "pipe"))
    done = scored(tmp_path, data, [completion(1, RIGHT)])
    sentence = "there are no outputs to compare with for 1 of 1 problems (1); --outputs FILE runs"
    assert (done.status, sentence in done.complaint) == (1, True)
    assert score(path, data, "--outputs", outputs, "-k", 1).status == 1
    done = score(path, data, "--outputs", outputs, "--json", "-")
    assert (done.status, done.json["metrics"], done.json["outcomes"]) == (0, {}, {"not_judged": 1})
    written = {"data": {"test": [{"outputs": [["2", "abab"]], "meta": {"id": 1}}]}}
    assert json.loads(outputs.read_text()) == written
    os.mkfifo(pipe)
    with ended_process(["cat", pipe], stdout=subprocess.PIPE) as reading:
        assert score(path, data, "--outputs", pipe).status == 0
        text, _ = reading.communicate(timeout=60)
    assert (pipe.is_fifo(), json.loads(text)) == (True, written)


def test_a_check_that_seems_broken_is_named_and_has_no_outputs_to_write(tmp_path):
    broken = check_row("HumanEval/1") | {"test": "def check(candidate):\n    assert candidat(1) == 2\n"}
    fussy = check_row("HumanEval/2")
    fussy["test"] = fussy["test"].replace("assert", "candidate(1) == 2 or candidat()\n    assert")
    data = write_lines(tmp_path / "HumanEval.jsonl", check_row("HumanEval/0"), broken, fussy)
    wrong = [(number, text) for number in (0, 1) for text in (WRONG, "    return 3\n")]
    rows = [completion(f"HumanEval/{number}", text) for number, text in [*wrong, (2, WRONG), (2, RIGHT)]]
    done = scored(tmp_path, data, rows, "--json", "-")
    sentence = (
        "the check of problem HumanEval/1 raised NameError on every answer; the check itself may be wrong"
    )
    assert (done.status, done.json["warnings"]) == (0, [sentence])
    done = scored(tmp_path, data, rows, "--outputs", tmp_path / "o.json")
    assert done.status == 2
    assert done.complaint.startswith("merilo: --outputs: the problems are tested by check")


@pytest.mark.parametrize(("rows", "status", "sentence"), [
    ([], 2, "c.jsonl: holds no completions"),
    ([completion(1, RIGHT), {"id": 1}], 1, "c.jsonl, row 2, completion: must be the text"),
    ([completion(1, RIGHT)], 1, "c.jsonl: there are no completions for 1 of 2 problems (2); --partial scores the others"),
])  # fmt: skip
def test_bad_input_is_one_sentence(tmp_path, data, rows, status, sentence):
    """The tests of reading problems and completions have every fault."""
    done = scored(tmp_path, data, rows)
    assert (done.status, sentence in done.complaint) == (status, True)


#: Words after `code score c.jsonl --data problems.json`, in a folder with `packages/`, and what is said of them.
REFUSED = [
    *((f"--k={k}", "-k: must be whole numbers of at least 1") for k in ("0", "-1", "a", "", "1,,2", "1.5", "²", "9" * 5_000)),
    *((f"--judge-seed={seed}", "--judge-seed: must be 1 to 100 ASCII characters") for seed in ("", "a b", "ё", "x" * 101)),
    ("--timeout 0", "--timeout must be 0.01 or more"),
    ("--timeout nan", "timeout"),
    ("--timeout inf", "--timeout must be a finite number"),
    ("--python 2.7", "--python"),
    ("--python /nowhere/python", "--python: '/nowhere/python' is neither a program"),
    ("--python pythonesque", "'pythonesque' is neither a program that can be run nor a version such as 3.14"),
    ("--packages /nowhere", "'/nowhere' is not a folder"),
    ("--packages c.jsonl", "is not a folder"),
    *((f"--packages {place}", "which programs must not see; choose another folder") for place in (".", "packages/..", "/")),
    *((f"--packages packages {option} packages/here", "which programs must not see") for option in ("--out", "--outputs", "--json")),
    ("--backend chroot", "there is no backend 'chroot'"),
    ("--unsafe-no-sandbox --backend docker", "--backend: 'docker' is a sandbox, but --unsafe-no-sandbox asks for none"),
    ("--ray=", "--ray: must be an address"),
    ("--workers 0", "--workers must be 1 or more"),
    (f"--memory {1 << 50}", "--memory must be 16777216 or less"),
    ("--memory x", "(see 'merilo code score --help')"),
    ("--per-problem --json -", "--per-problem: lengthens the tables, and --json - prints none"),
    ("--outputs -", "--outputs: must be a file; only --json prints on standard output"),
    *((f"{option} {place}", "would be overwritten together with the input file") for option in ("--json", "--outputs") for place in ("c.jsonl", "problems.json")),
    *((f"--out out {words}", "would be written twice, with different results; choose another path") for words in (
        "--outputs out/verdicts.jsonl", "--outputs out/../out/score.json", "--json out/generations.jsonl", "--json x --outputs x",
    )),
    *((f"{option} c.jsonl/x/y", "c.jsonl is not a folder)") for option in ("--out", "--json", "--outputs")),
    *((f"{option} packages", "packages: is a folder; name a file") for option in ("--json", "--outputs")),
    ("-", "standard input cannot be used"),
    ("--out packages", "score.json: exists already, and without a verdicts.jsonl beside it"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "sentence"), REFUSED)
def test_what_cannot_be_done_is_one_sentence_and_changes_no_file(
    tmp_path, data, monkeypatch, words, sentence
):
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "c.jsonl", *generations(1, 1, 1))
    (tmp_path / "packages").mkdir()
    if words == "--out packages":
        (tmp_path / "packages" / "score.json").write_text("theirs")
    checks = write_lines(tmp_path / "HumanEval.jsonl", check_row(1), check_row(2))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    problems = checks.name if "seed" in words else "problems.json"
    options = [words] if "=" in words else words.split(" ")
    done = (
        score(Path("-"), Path(problems)) if words == "-" else score(Path("c.jsonl"), Path(problems), *options)
    )
    assert done.status == 2
    assert sentence in done.complaint
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert not (tmp_path / "out").exists()


def test_without_a_jail_programs_run_only_when_the_danger_is_spelt_out(tmp_path, data, monkeypatch):
    path = write_lines(tmp_path / "c.jsonl", *generations(1, 1, 1))
    monkeypatch.setenv("PATH", str(tmp_path))
    done = score(path, data, "--json", "-")
    assert (done.status, done.out) == (2, "")
    assert "generated programs run only in a sandbox" in done.complaint
    done = score(path, data, "--unsafe-no-sandbox", "--json", "-")
    assert (done.status, done.json["outcomes"]) == (0, {"passed": 2})
    assert done.json["warnings"] == ["the programs ran without a sandbox, and could do anything that you can"]
    assert done.json["warnings"][0] in done.complaint
    assert done.json["provenance"]["parameters"]["jail"]["jail"] == "none"
    assert score(path, data, "--unsafe", "--json", "-").status == 2


def test_a_finished_folder_answers_again_without_running_anything(tmp_path, data):
    path, out = write_lines(tmp_path / "c.jsonl", *generations(3, 10)), tmp_path / "out"
    first = score(path, data, "--out", out, "--json", "-")
    verdicts = (out / "verdicts.jsonl").read_bytes()
    again = score(path, data, "--out", out, "-k", "3", "--json", "-")
    assert again.complaint == "merilo: resuming; programs that already have verdicts: 20"
    assert (out / "verdicts.jsonl").read_bytes() == verdicts
    assert again.json["per_problem"][0]["outcomes"] == first.json["per_problem"][0]["outcomes"]
    assert json.loads((out / "score.json").read_text())["metrics"] == again.json["metrics"]
    assert len((out / "generations.jsonl").read_text().splitlines()) == 20
    assert "20 distinct, all judged before" in score(path, data, "--out", out).out
    (out / "verdicts.jsonl").write_bytes(b"".join(verdicts.splitlines(keepends=True)[:6]))
    assert "20 distinct, 5 judged before, the others" in score(path, data, "--out", out).out


@pytest.mark.parametrize(("what", "words"), [
    ("wall_seconds was", ["--timeout", 2]), ("jail was", ["--unsafe-no-sandbox"]), ("the completions have changed since", []),
])  # fmt: skip
def test_a_folder_of_another_job_is_refused(tmp_path, data, what, words):
    path, out = write_lines(tmp_path / "c.jsonl", *generations(1, 1, 1)), tmp_path / "out"
    assert score(path, data, "--out", out).status == 0
    before = (out / "verdicts.jsonl").read_bytes()
    done = scored(tmp_path, data, generations(1 if words else 0, 1, 1), "--out", out, *words)
    assert done.status == 2
    assert f"verdicts.jsonl: holds the verdicts of another job: {what}" in done.complaint
    assert (out / "verdicts.jsonl").read_bytes() == before


def test_a_result_names_the_jail_and_the_python_that_were_found_for_what_was_asked(tmp_path, data):
    out, packages = tmp_path / "out", tmp_path / "packages"
    packages.mkdir()  # an empty one is taken, and the score may be named twice
    words = ("--packages", packages, "--out", tmp_path / "other", "--json", tmp_path / "other" / "score.json")
    assert scored(tmp_path, data, generations(1, 1, 1), *words).status == 0
    for words in ([], ["--python", interpreter().executable], ["--backend", "bubblewrap"]):
        done = scored(tmp_path, data, generations(1, 1, 1), *words, "--out", out, "--json", "-")
        jail = done.json["provenance"]["parameters"]["jail"]
        assert (jail["jail"], jail["python"]) == ("bubblewrap", platform.python_version())
    assert "already have verdicts: 2" in done.complaint  # other words for the same are the same job


def test_file_names_need_not_be_utf8(tmp_path, data):
    def odd(name: str) -> Path:
        return tmp_path / os.fsdecode(name.encode() + b"\xff")

    path = write_lines(odd("c"), *generations(1, 1, 1))
    odd("packages").mkdir()
    odd("python").symlink_to(sys.executable)
    problems = odd("problems").with_suffix(".json")
    data.rename(problems)
    words = [
        *("--out", odd("out"), "--outputs", odd("u")),
        *("--packages", odd("packages"), "--python", odd("python")),
    ]
    done = score(path, problems, *words, "--json", "-")
    assert (done.status, done.err) == (0, "")
    parameters = done.json["provenance"]["parameters"]
    assert parameters["data"].endswith("problems\\xff.json")
    assert parameters["jail"]["packages"].endswith("packages\\xff")
    assert json.loads((odd("out") / "score.json").read_text()) == done.json


#: How many programs a job has, and after how many verdicts it is killed.
PROGRAMS, BEFORE = 80, 10


def job(folder: Path) -> tuple[Path, Path]:
    """A job of about two seconds: programs that wait a moment each and take little of the processor."""
    wait = "    import time\n    time.sleep(0.03)\n"
    texts = [f"{wait}    return {n % 4} * x\n    # {n}\n    pass\n" for n in range(PROGRAMS)]
    completions = write_lines(folder / "c.jsonl", *[completion(1, text) for text in texts])
    return completions, write_items(folder / "problems.json", item(1))


def result(out: Path) -> dict:
    content = json.loads((out / "score.json").read_text())
    names = ("metrics", "outcomes", "per_problem", "programs", "rules", "retries")
    return {name: content[name] for name in names}


def family_of(root: int) -> list[int]:
    """A handle of each process below this one; a number alone would be given to another process in no time."""
    handles = {}
    for pid in descendants(root):
        with suppress(ProcessLookupError):
            handles[pid] = os.pidfd_open(pid)
    for pid in handles.keys() - set(descendants(root)):  # it ended, and the handle may be that of a stranger
        os.close(handles.pop(pid))
    return [*handles.values()]


@pytest.mark.parametrize(
    "victim",
    [pytest.param(name, marks=pytest.mark.thorough) for name in ("parent", "everything")] + ["interrupted"],
)
def test_a_killed_job_leaves_nothing_running_and_goes_on_to_the_same_result(tmp_path, victim):
    path, data = job(tmp_path)
    out, temporary, said = (tmp_path / name for name in ("out", "temporary", "said"))
    temporary.mkdir()
    options = ["--data", data, "--out", out, "--workers", 2]
    words = [sys.executable, "-m", "merilo", "code", "score", path, *options]
    search = {"TMPDIR": str(temporary), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with (
        said.open("w") as stream,
        ended_process([*map(str, words)], env=os.environ | search, stdout=stream, stderr=stream) as process,
    ):
        while not (out / "verdicts.jsonl").exists() or len(lines_of(out)) - 1 <= BEFORE:
            with suppress(subprocess.TimeoutExpired):
                pytest.fail(f"the job ended with {process.wait(0.005)} before anything could be killed")
        family = family_of(process.pid)
        assert len(family) >= 2
        process.send_signal(signal.SIGINT if victim == "interrupted" else signal.SIGKILL)
        for handle in family if victim == "everything" else ():
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        assert process.wait(120) == (130 if victim == "interrupted" else -signal.SIGKILL)
    assert all(select.select([handle], [], [], 30)[0] for handle in family)
    for handle in family:
        os.close(handle)
    assert list(temporary.iterdir()) == []
    if victim == "interrupted":
        assert f"the verdicts so far are in {out}; run the same command again" in said.read_text()
    kept = (out / "verdicts.jsonl").read_bytes().rpartition(b"\n")[0].splitlines()
    assert BEFORE < len(kept) - 1 < PROGRAMS
    assert score(path, data, "--out", out).status == 0
    assert lines_of(out)[: len(kept)] == kept
    programs = [json.loads(line)["program"] for line in lines_of(out)[1:]]
    assert len(programs) == len(set(programs)) == PROGRAMS
    assert score(path, data, "--out", tmp_path / "unkilled").status == 0
    assert result(out) == result(tmp_path / "unkilled")


def lines_of(out: Path) -> list[bytes]:
    return (out / "verdicts.jsonl").read_bytes().splitlines()

"""`merilo run` as its users see it: a server on loopback that misbehaves, tables, refusals and exit statuses."""

import json
from base64 import b64encode
from collections import Counter
from pathlib import Path
from shutil import copytree

import pytest
from command import merilo
from every import every
from scripted_server import (
    CHAT,
    MODEL,
    Act,
    Answers,
    Asked,
    Drops,
    Fails,
    Raw,
    ScriptedServer,
    half_a_line,
    limits,
)
from tiny_models import save_word_tokenizer

from merilo.datasets import dataset
from merilo.datasets.bundled_items import examples

LOCAL = "local-chat-completions"


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Back-off is tested with the backends; here no test waits for it, and the machine's own keys are not used."""
    for sdk in ("openai", "anthropic"):
        monkeypatch.setattr(f"{sdk}._base_client.INITIAL_RETRY_DELAY", 0.0)
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)


def args(server: ScriptedServer, **more: object) -> str:
    known = {"model": MODEL, "base_url": server.url, "max_retries": 2, "timeout": 20, "num_concurrent": 8}
    return ",".join(f"{name}={value}" for name, value in {**known, **more}.items())


def data_of(folder: Path, count: int, name: str = "lcs") -> Path:
    """Items that are told apart by their text; the gold answer of each is its number modulo 10."""
    items = [
        {"instruction": "Вопрос {inputs}", "inputs": f"номер-{n}.", "outputs": str(n % 10), "meta": {"id": n}}
        for n in range(count)
    ]
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps({"data": {"test": items}}), encoding="utf-8")
    return folder


def number_of(asked: Asked) -> int:
    return int(asked.text.rpartition("номер-")[2].partition(".")[0])


def records(run: Path, name: str = "lcs") -> list[dict]:
    return [json.loads(line) for line in (run / "log" / f"{name}.jsonl").read_text().splitlines()]


def test_a_server_that_misbehaves_in_every_way_loses_nothing_and_every_outcome_is_counted(
    tmp_path: Path,
) -> None:
    first_try: Counter[int] = Counter()

    def script(asked: Asked) -> Act:
        number = number_of(asked)
        first_try[number] += 1
        once: dict[int, Act] = {
            1: Fails(500), 2: limits("0"), 3: Drops(), 4: half_a_line(), 5: Raw(b"<html>busy</html>", content_type="text/html"),
            6: Fails(503, headers={"Retry-After": "0"}),
        }  # fmt: skip
        always: dict[int, Act] = {
            10: Fails(500), 11: Answers("", finish="length"), 12: Answers(""), 13: Answers("вот такие дела"),
            14: Answers(None, refusal="I can't help with that."), 15: Fails(400, "This model's maximum context length is 5 tokens. However, your "
            "messages resulted in 9 tokens.", "context_length_exceeded"), 16: Answers("7 7 7 8"),
        }  # fmt: skip
        if number in once and first_try[number] == 1:
            return once[number]
        # Earlier items take longer, so that answers arrive in another order than requests.
        return always.get(number, Answers(str(number % 10), seconds=0.02 if number < 4 else 0.0))

    with ScriptedServer(script) as server:
        done = merilo(
            *("run", "--model", LOCAL, "--model-args", args(server)),
            *("--datasets", "lcs", "--data", data_of(tmp_path / "data", 40)),
            *("--shots", "0", "--out", tmp_path / "run", "--json", "-"),
        )
    assert done.status == 1, done.err
    found = done.json["datasets"]["lcs"]
    assert found["outcomes"] == {
        "answered": 33, "refused": 1, "empty": 1, "truncated": 1, "unreadable": 2, "too_long": 1, "failed": 1, "not_asked": 0,
    }  # fmt: skip
    assert [(one["item"], bool(one["reason"])) for one in found["unreadable"]] == [("13", True), ("16", True)]
    told = merilo("score", tmp_path / "run")
    assert "2 replies have no readable answer: items 13, 16; --explain lcs:13" in " ".join(told.out.split())
    assert found["metrics"]["acc"]["n"] == 39
    assert found["metrics"]["acc"]["value"] == pytest.approx(33 / 39)
    logged = records(tmp_path / "run")
    assert Counter(one["item"] for one in logged) == Counter(map(str, range(40)))
    assert {one["item"]: one["text"] for one in logged}["23"] == "3"
    failed = next(one for one in logged if one["item"] == "10")
    assert (failed["finish"], failed["attempts"]) == ("failed", 3)
    assert all(first_try[number] == 2 for number in range(1, 7))
    assert all(times == 1 for number, times in first_try.items() if number not in {*range(1, 7), 10})


def test_the_same_command_goes_on_after_a_dead_server_and_asks_nothing_twice(tmp_path: Path) -> None:
    data = data_of(tmp_path / "data", 60)
    words = [
        *("run", "--model", LOCAL, "--datasets", "lcs"),
        *("--data", data, "--shots", "0", "--out", tmp_path / "run"),
    ]
    with ScriptedServer() as server:
        port_args = args(server, max_retries=0, num_concurrent=4)

        def script(asked: Asked) -> Act:
            return (
                Answers(str(number_of(asked) % 10))
                if len(server.asked) <= 25
                else Fails(401, "the key has been withdrawn", "invalid_api_key")
            )

        server._script = script
        ended = merilo(*words, "--model-args", port_args)
        assert ended.status == 2
        assert "key" in ended.complaint
        answered = {one["item"] for one in records(tmp_path / "run")}
        assert len(answered) == 25
        server._script = lambda asked: Answers(str(number_of(asked) % 10))
        before = len(server.asked)
        done = merilo(*words, "--model-args", port_args, "--json", "-")
        assert done.status == 0, done.err
        assert "resuming with 25 of 60 replies" in done.err
        assert {str(number_of(one)) for one in server.asked[before:]} == {
            str(n) for n in range(60)
        } - answered
    assert done.json["datasets"]["lcs"]["metrics"]["acc"] | {"ci95": 0} == {
        "value": 1.0,
        "n": 60,
        "ci95": 0,
        "interval": "Wilson's form over items",
    }


def test_the_budget_stops_the_run_and_a_higher_one_resumes_it(tmp_path: Path) -> None:
    data = data_of(tmp_path / "data", 100)
    words = [
        *("run", "--model", LOCAL, "--datasets", "lcs"),
        *("--data", data, "--shots", "0", "--out", tmp_path / "run"),
        *("--max-tokens", "100"),
    ]
    prices = ["--price", "1,10", "--json", "-"]
    with ScriptedServer(lambda asked: Answers(str(number_of(asked) % 10), usage=(50, 100, 0))) as server:
        first = merilo(*words, "--model-args", args(server), *prices, "--max-usd", "0.02")
        assert first.status == 1
        assert 0.02 <= first.json["usd"] < 0.02 + 8 * 1050 / 1e6
        assert "--max-usd 0.02 is reached" in first.err
        done = merilo(*words, "--model-args", args(server), *prices, "--max-usd", "1")
        assert done.status == 0
        assert len(server.asked) == 100
    assert done.json["usd"] == pytest.approx(100 * 1050 / 1e6)


@every(
    ("words", "told"),
    [
        (["--model", "local-chat-completion", "--datasets", "lcs"], "there is no backend 'local-chat-completion'; did you mean local-chat-completions"),
        (["--model", "zzz", "--datasets", "lcs"], "most-frequent"),
        (["--model", "randm", "--datasets", "lcs"], "there is no backend 'randm'; did you mean random?"),
        (["--model", LOCAL, "--model-args", "modle=x", "--datasets", "lcs"], "modle"),
        (["--model", LOCAL, "--model-args", "model", "--datasets", "lcs"], "--model-args: takes NAME=VALUE"),
        (["--model", "gold", "--datasets", "lcz"], "there is no dataset 'lcz': did you mean lcs?"),
        (["--model", "gold", "--datasets", "lcs,LCS"], "--datasets: LCS is named twice"),
        (["--model", "gold"], "--datasets: name at least one dataset"),
        (["--model", "gold", "--datasets", "rutie", "--shots", "2"], "ruTiE has no shots"),
        (["--model", "gold", "--datasets", "chegeka", "--mode", "loglikelihood"], "the answers of CheGeKa are open"),
        (["--model", LOCAL, "--model-args", "model=m,base_url=http://h/v1", "--datasets", "bps", "--mode", "loglikelihood"],
         "has no log-likelihoods: ask BPS with --mode generate"),
        (["--model", "gold", "--datasets", "lcs", "--as-people", "--shots", "1"], "people saw no shots"),
        (["--model", "gold", "--datasets", "bps", "--mode", "loglikelihood", "--stop", ".", "--temperature", "1"],
         "--mode loglikelihood: generates nothing: leave out --stop, --temperature"),
        (["--model", "gold", "--study", "s", "--data", "d"], "--study: a study is asked exactly as people saw it: leave out --data"),
        (["--model", "gold", "--study", "s", "--prompts", "merilo"], "as people saw it: leave out --prompts"),
        (["--model", "gold", "--study", "s", "--shots", "1"], "as people saw it: leave out --shots"),
        (["--model", "gold", "--datasets", "lcs", "--samples", "3"], "would be equal at temperature 0: give --temperature T above 0"),
        (["--model", "gold", "--datasets", "lcs", "--max-tokens", "0"], "--max-tokens must be 1 or more"),
        (["--model", "gold", "--datasets", "lcs", "--price", "1"], "--price: takes the prices of requests and of answers, such as 2.5,10, not '1'"),
        (["--model", "gold", "--datasets", "lcs", "--max-usd", "1"], "--max-usd: needs the price of a million tokens: --price IN,OUT"),
        (["--model", "gold", "--datasets", "lcs", "--data", "nowhere"], "nowhere: there is no such file or folder of items"),
    ],
)  # fmt: skip
def test_wrong_usage_is_one_sentence_and_makes_no_folder(words: list[str], told: str, tmp_path: Path) -> None:
    done = merilo("run", *words, "--out", tmp_path / "run")
    assert done.status == 2
    assert told in done.complaint
    assert not (tmp_path / "run").exists()


def test_a_server_that_lies_about_log_likelihoods_is_asked_nothing_more(tmp_path: Path) -> None:
    with ScriptedServer(likelihoods="shifted") as server:
        given = args(server, tokenizer=save_word_tokenizer(tmp_path / "words"))
        words = ("run", "--model", "local-completions", "--model-args", given, "--datasets", "bps")
        done = merilo(*words, "--out", tmp_path / "run")
    assert (done.status, "log-likelihood" in done.err) == (2, True)
    assert not (tmp_path / "run" / "bps.jsonl").exists()


def test_a_folder_with_other_files_is_not_taken_for_a_run(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    for force in ([], ["--force"]):
        done = merilo("run", "--model", "gold", "--datasets", "lcs", "--out", tmp_path, *force)
        assert (done.status, (tmp_path / "notes.txt").read_text()) == (2, "mine")
        assert "exists already and holds no run" in done.complaint


def test_a_log_that_was_cut_off_is_said_and_only_its_last_request_is_asked_again(tmp_path: Path) -> None:
    words = ["run", "--model", "gold", "--datasets", "lcs", "--out", tmp_path / "run"]
    assert merilo(*words).status == 0
    log = tmp_path / "run" / "log" / "lcs.jsonl"
    whole = log.read_bytes()
    log.write_bytes(whole[:-30])
    scored = merilo("score", tmp_path / "run")
    assert scored.status == 0
    assert "the last line is cut off after" in scored.err
    assert "1 not asked" in scored.out
    done = merilo(*words)
    assert done.status == 0
    assert "the last line is cut off after" in done.err
    assert "its request is asked again" in done.err
    assert len(log.read_bytes().splitlines()) == len(whole.splitlines())


def test_a_run_without_a_folder_shows_prompts_and_estimates_and_asks_nothing(tmp_path: Path) -> None:
    with ScriptedServer() as server:
        words = [
            *("run", "--model", LOCAL, "--model-args", args(server)),
            *("--datasets", "lcs,rumodar", "--price", "1,2"),
        ]
        shown, told = merilo(*words), merilo(*words, "--json", "-")
    assert server.asked == []
    assert "nothing was asked; --out DIR asks the model" in shown.err
    assert "=== LCS, item 1 ===" in shown.out
    assert "Строки: KOMPAS POMOST\nОтвет:" in shown.out
    found = told.json["datasets"]["lcs"]
    assert found["requests"] == len(found["rendered"]) == len(examples(dataset("lcs"))["test"])
    assert found["prompt_tokens"] > 0
    assert told.json["usd"] == pytest.approx(sum(one["usd"] for one in told.json["datasets"].values()))


def test_explain_shows_prompt_reply_thought_rule_and_score(tmp_path: Path) -> None:
    with ScriptedServer([Answers("Думаю, ответ: 2", thought="считаю")]) as server:
        words = ("run", "--model", LOCAL, "--model-args", args(server), "--datasets", "lcs")
        assert merilo(*words, "--out", tmp_path / "run").status == 0
    done = merilo("score", tmp_path / "run", "--explain", "1")
    shown = (
        "=== LCS, item 1 ===|[user]|[thought]\nсчитаю|[reply] (stop)\nДумаю, ответ: 2|(rule: |[acc] |gold '"
    )
    assert [part for part in shown.split("|") if part not in done.out] == []
    assert merilo("score", tmp_path / "run", "--explain", "999").complaint.endswith(
        "no dataset of the run has an item '999'"
    )


def test_built_in_respondents_are_marked_in_the_table(tmp_path: Path) -> None:
    done = merilo("run", "--model", "most-frequent", "--datasets", "parus", "--out", tmp_path / "run")
    assert "most-frequent (built-in)" in done.out
    assert "is a built-in respondent, not a model" in done.err
    assert merilo("score", tmp_path / "run", "--json", "-").json["model"]["builtin"]
    for option in ("--per-item", "--replies", "--force", "--dataset=parus", "--split=test", "--cluster=x"):
        told = f"merilo: {option.partition('=')[0]} does not go with the folder of a run, which is scored as it was asked"
        assert merilo("score", tmp_path / "run", option).complaint == told


def test_the_run_s_folder_holds_no_key_of_the_address_or_the_body(tmp_path: Path) -> None:
    acts = [Answers("1"), Fails(400, "POST /?api-key=hush"), Fails(404, "no /?api-key=hush")]
    with ScriptedServer(acts) as server:
        url = server.url.replace("http://", "http://me:hush@") + "/?api-key=hush&api-version=2"
        given = json.dumps({"model": MODEL, "base_url": url, "extra_body": {"user": {"api_key": "hush"}}})
        words = [
            "run",
            "--model",
            LOCAL,
            "--model-args",
            given,
            "--datasets",
            "lcs",
            "--out",
            tmp_path / "run",
        ]
        done = merilo(*words, "--limit", "1")
        assert done.status == 0, done.err
        assert merilo(*words, "--limit", "2").status == 1
        gone = merilo(*words, "--limit", "2")
        assert gone.status == 2
        assert "hush" not in gone.err
        assert "api-key=***&api-version=2" in gone.err
        assert (server.asked[0].path, server.asked[0].query) == (CHAT, "api-key=hush&api-version=2")
        assert server.asked[0].body["user"] == {"api_key": "hush"}
        assert server.asked[0].headers["authorization"] == "Basic " + b64encode(b"me:hush").decode()
    for path in (tmp_path / "run").rglob("*"):
        assert path.is_dir() or b"hush" not in path.read_bytes()


def test_equal_failures_in_a_row_end_the_run_and_the_same_command_resumes_it(tmp_path: Path) -> None:
    words = [
        *("run", "--model", LOCAL, "--datasets", "lcs", "--data", data_of(tmp_path / "data", 60)),
        *("--shots", "0", "--out", tmp_path / "run"),
    ]

    def script(asked: Asked) -> Act:
        return Answers("1") if asked.number <= 5 else Fails(400, f"no such field (request r{asked.number})")

    with ScriptedServer(script) as server:
        ended = merilo(*words, "--model-args", args(server, num_concurrent=4))
        assert ended.status == 2
        assert "20 requests in a row failed for the same reason: status 400: no such field" in ended.complaint
        assert "the same command resumes the run" in ended.complaint
        assert len(server.asked) <= 5 + 20 + 3
        server._script = [Answers("1")]
        assert merilo(*words, "--model-args", args(server)).status == 0
    assert len([one for one in records(tmp_path / "run") if one["finish"] == "stop"]) == 60


def test_many_replies_that_were_cut_are_said_with_what_to_do(tmp_path: Path) -> None:
    def script(asked: Asked) -> Act:
        cut = number_of(asked) % 2
        return Answers(
            "" if cut else "1", thought="долго думаю", finish="length" if cut else None, usage=(9, 64, 48)
        )

    words = ["run", "--model", LOCAL, "--datasets", "lcs", "--shots", "0", "--out", tmp_path / "run"]
    with ScriptedServer(script) as server:
        data = data_of(tmp_path / "data", 8)
        done = merilo(*words, "--model-args", args(server), "--data", data, "--max-tokens", "64")
    told = (
        "LCS: 4 of 8 replies (50%) were cut at the limit of tokens after 64 tokens; thought takes 75% of all tokens: "
        "ask with a larger limit in another folder (--max-tokens 256)"
    )
    assert told in done.err
    assert told in merilo("score", tmp_path / "run").err


CUT, EMPTY = "the limit of tokens cut them before an answer; ask with a larger --max-tokens", "they are empty"


@every(
    ("name", "act", "told"),
    [
        ("apart", Answers(None, thought="долго думаю", finish="length"), CUT),
        ("within", Answers("<think>долго думаю", finish="length"), CUT),
        ("empty", Answers(""), EMPTY),
    ],
)
def test_a_run_ends_if_its_first_replies_have_no_text(name: str, act: Act, told: str, tmp_path: Path) -> None:
    words = ["run", "--model", LOCAL, "--datasets", "lcs", "--out", tmp_path / name, "--data"]
    with ScriptedServer([act]) as server:
        done = merilo(*words, data_of(tmp_path / "data", 100), "--shots", "0", "--model-args", args(server))
    assert done.status == 2
    assert f"the first 20 replies have no text: {told}" in done.err
    assert len(server.asked) < 20 + 8


def test_another_way_of_reading_answers_reads_the_log_again(tmp_path: Path) -> None:
    """A harness takes the first digit, also one that counts the options."""
    gold = {f"Строки: {one.inputs}\nОтвет:": one.outputs for one in examples(dataset("lcs"))["test"]}

    def script(asked: Asked) -> Answers:
        question = asked.text.rpartition("\n\n")[2]
        return Answers(f"Из 9 вариантов верен один. Ответ: {gold[question]}")

    words = ("run", "--model", LOCAL, "--datasets", "lcs", "--out", tmp_path / "run")
    with ScriptedServer(script) as server:
        ran = merilo(*words, "--model-args", args(server))
        asked = len(server.asked)
        again = merilo(*words, "--model-args", args(server), "--extract", "harness", "--json", "-")
        kept = merilo(*words, "--model-args", args(server))
        assert len(server.asked) == asked
    assert ran.status == again.status == 0, ran.err + again.err
    assert " 1.000 " in ran.out
    found = again.json["datasets"]["lcs"]
    assert found["extract"] == "harness"
    assert found["metrics"]["acc"]["value"] == 0
    assert kept.out.startswith(f"{MODEL} (extract: harness)")
    answers = (tmp_path / "run" / "lcs.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["answer"] for line in answers} == {"9"}


def test_a_run_begun_in_merilos_prompts_goes_on_in_them(tmp_path: Path) -> None:
    words = ("run", "--model", LOCAL, "--datasets", "parus", "--out", tmp_path / "run")
    with ScriptedServer() as server:
        merilo(*words, "--model-args", args(server), "--prompts", "merilo", "--limit", "2")
        more = merilo(*words, "--model-args", args(server), "--limit", "4", "--json", "-")
        assert more.json["datasets"]["parus"]["prompts"] == "merilo", more.err
        assert len(server.asked) == 4
        refused = merilo(*words, "--model-args", args(server), "--prompts", "harness", "--limit", "4")
    assert refused.status == 2
    assert 'prompts was "merilo" and is now "harness"' in refused.complaint


@pytest.mark.parametrize(("change", "told"), [
    (("file: q.jsonl", "file: moved.jsonl"), "moved.jsonl: there is no such file, which the declaration of Quiz names as 'items.file'"),
    (("cluster: text", "cluster: txet"), "no item has the field 'txet', which the declaration names as 'cluster'"),
    (None, ""),
])  # fmt: skip
def test_a_dataset_of_ones_own_is_asked_by_its_declaration_alone(
    change: tuple[str, str] | None, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        {"id": n, "qid": f"q{n}", "question": f"{n}?", "text": n % 2, "gold": "ab"[n % 2]} for n in range(9)
    ]
    for name in ("q.jsonl", "test.jsonl"):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    declaration = (
        "name: Quiz\ntitle: Quiz\nfields: [question]\nanswer: {kind: choice, labels: [a, b]}\nmetrics: [acc]\ncluster: text\n"
        "prompts: ['{question}']\nitems: {file: q.jsonl, id: qid, gold: gold, meta: [id, text]}\n"
    ).replace(*change or ("", ""))
    (tmp_path / "own.yaml").write_text(declaration, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    ended = merilo("run", "--model", "random", "--datasets", "own.yaml", "--out", "run")
    assert told in ended.err
    assert bool(ended.status) == bool(told)
    if not told:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert "Quiz, item q3" in merilo("score", tmp_path / "run", "--explain", "quiz:q3").out
        again = ("run", "--model", "random", "--datasets", "../own.yaml", "--out", tmp_path / "run")
        assert merilo(*again).status == 0
        copytree(tmp_path / "run", tmp_path / "again")
        assert "cannot be told from" in merilo("compare", tmp_path / "run", tmp_path / "again").out


def test_the_folder_of_a_dataset_holds_its_items_for_scores_as_for_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "test.json").write_text(json.dumps({"data": {"test": [
        {"instruction": 0, "inputs": {"question": "?"}, "outputs": "A", "meta": {"id": 1}},
    ]}}), encoding="utf-8")  # fmt: skip
    (tmp_path / "dataset.yaml").write_text(
        "name: quiz\ntitle: Quiz\nfields: [question]\nanswer: {kind: choice, labels: [A, B]}\nmetrics: [acc]\n"
        "prompts: ['{question}']\n"
    )
    (tmp_path / "a.csv").write_text("id,answer\n1 ,A\n")
    for named in (tmp_path, tmp_path / "dataset.yaml"):
        scored = merilo("score", tmp_path / "a.csv", "--dataset", named, "--json", "-")
        assert (scored.status, scored.json["metrics"]["acc"]["value"]) == (0, 1.0), scored.err
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bps").mkdir()
    assert "answers to BPS need --data" in merilo("score", "a.csv", "--dataset", "bps").complaint

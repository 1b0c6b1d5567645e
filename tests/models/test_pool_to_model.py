"""From a platform's pool to a model that is asked the same items: commands and files only."""

import csv
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from command import Outcome, done, merilo
from every import every
from exports import csv_rows
from scripted_server import MODEL, Answers, ScriptedServer

#: pool -> the columns whose texts a person saw for an item, and the number of items.
SHOWN = {
    "bps": (("parentheses",), 100),
    "lcs": (("string1", "string2"), 100),
    "rutie": (("question", "answer_1", "answer_2"), 430),
    "ruworldtree": (("question", "option_a", "option_b", "option_c", "option_d"), 525),
    "rwsd": (("text", "word", "pronoun"), 260),
}

#: The pools whose gold answers a program computes; the gold of the others is closed.
SOLVED = ("bps", "lcs")

every_pool = pytest.mark.parametrize("pool", list(SHOWN))


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture(scope="module")
def baselines(pools: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of the baseline of a pool, made with `--dataset`."""
    folder = tmp_path_factory.mktemp("baselines")

    @cache
    def baseline(pool: str) -> Path:
        files = sorted((pools / pool).glob("*.tsv"))
        if not files:
            pytest.skip(f"the published pool {pool} is not in {pools}")
        made = merilo("baseline", *files, "--dataset", pool, "--out", folder / pool)
        assert made.status in {0, 1}, made.err
        return folder / pool

    return baseline


def items_of(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "raw" / "items.jsonl").read_text("utf-8").splitlines()]


def asked(baseline: Path, out: Path, model: str, *options: object) -> Outcome:
    """The command that asks a model exactly the items of a baseline."""
    return merilo("run", "--model", model, "--data", baseline, "--out", out, *options)


@every_pool
def test_a_server_is_sent_exactly_the_items_that_people_saw(
    pool: str, baselines: Callable[[str], Path], tmp_path: Path
) -> None:
    columns, count = SHOWN[pool]
    base = baselines(pool)
    # The table of the consensus names the pool's own columns.
    saw = {tuple(row[name].removeprefix("'") for name in columns) for row in csv_rows(base / "consensus.csv")}
    assert len(items_of(base)) == count
    with ScriptedServer(lambda _: Answers("1")) as server:
        given = f"model={MODEL},base_url={server.url},num_concurrent=16,timeout=60"
        run = asked(base, tmp_path / pool, "local-chat-completions", "--model-args", given)
    assert run.status == 0, run.err
    prompts = [one.text for one in server.asked]
    assert len(prompts) == count
    for texts in saw:
        # A prompt of a dialogue holds the earlier turns too; its own question stands last.
        assert any(all(text in prompt for text in texts) for prompt in prompts), texts
    if pool != "rutie":
        assert len(set(prompts)) == len(saw) == count
        for prompt in prompts:
            assert any(all(text in prompt for text in texts) for texts in saw), prompt
    if pool == "lcs":  # two strings in one text, separated by a space, as in the dataset
        assert all(any(" ".join(texts) in prompt for texts in saw) for prompt in prompts)
    if pool == "rutie":
        assert max(map(len, prompts)) > 20_000


@every_pool
def test_every_item_of_a_run_is_compared_with_people(
    pool: str, baselines: Callable[[str], Path], tmp_path: Path
) -> None:
    base, run = baselines(pool), tmp_path / f"{pool}-random"
    assert asked(base, run, "random").status == 0
    items = {str(item["meta"]["id"]): item for item in items_of(base)}
    gold, words = {name: item["outputs"] for name, item in items.items()}, []
    if pool not in SOLVED:
        assert set(gold.values()) == {""}
        refused = merilo("compare", base, run)
        assert refused.status == 1
        assert "no item of this baseline has a gold answer: add --data FILE" in refused.complaint
        no_gold = asked(base, tmp_path / f"{pool}-gold", "gold")
        assert "has no gold answer" in no_gold.complaint
        # The owner's answers come later; here, what people agreed on stands for them.
        gold = {name: row["label"] for name, row in zip(items, csv_rows(base / "consensus.csv"), strict=True)}
        lines = [
            json.dumps({**items[name], "outputs": label}) + "\n" for name, label in gold.items() if label
        ]
        (tmp_path / f"{pool}.jsonl").write_text("".join(lines))
        words = ["--data", tmp_path / f"{pool}.jsonl"]
    found = done("compare", base, run, *words, "--json", "-")
    row = found.json["rows"][0]
    answers = map(json.loads, (run / f"{pool}.jsonl").read_text("utf-8").splitlines())
    right = sum(bool(gold[row["id"]]) and gold[row["id"]] == row["answer"] for row in answers)
    count = sum(map(bool, gold.values()))
    assert row["score"]["n"] == count
    assert row["score"]["value"] == pytest.approx(right / count, abs=1e-6)
    assert row["difference"]["value"] < 0
    if pool not in SOLVED:
        assert row["people"]["value"] == 1


@pytest.mark.thorough
def test_judging_projects_of_rudetox_are_not_the_dataset_s_items(pools: Path, tmp_path: Path) -> None:
    files = sorted((pools / "rudetox").glob("*.tsv"))
    if not files:
        pytest.skip(f"the published pool rudetox is not in {pools}")
    merilo("baseline", files[0], "--dataset", "rudetox", "--out", tmp_path / "base")
    refused = asked(tmp_path / "base", tmp_path / "run", "random")
    assert refused.status == 2
    assert "asked people another question" in refused.complaint


# ---- without the published pools


def pool_of(folder: Path, **columns: list[str]) -> Path:
    """A table of three annotators who give the same answer, with these columns for each item."""
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    with (folder / "pool.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, [*columns, "worker", "label"])
        writer.writeheader()
        for worker in "abc":
            writer.writerows({**row, "worker": worker, "label": "1"} for row in rows)
    return folder / "pool.csv"


def test_a_pool_with_the_dataset_s_fields_keeps_other_columns_as_meta(tmp_path: Path) -> None:
    pool = pool_of(
        tmp_path,
        replica=["Реплика один", "Реплика два"],
        reply_1=["а", "б"],
        reply_2=["в", "г"],
        target_group=["женщины", "мужчины"],
        source=["x", "y"],
    )
    fields = ["replica", "reply_1", "reply_2", "target_group", "source"]
    items = [word for name in fields for word in ("--item", name)]
    made = merilo("baseline", pool, "--dataset", "ruhatespeech", *items, "--out", tmp_path / "base")
    assert made.status in {0, 1}, made.err
    first = items_of(tmp_path / "base")[0]
    assert first["inputs"] == {
        "replica": "Реплика один", "reply_1": "а", "reply_2": "в", "target_group": "женщины",
    }  # fmt: skip
    assert first["meta"] == {"id": 1, "source": "x"}
    assert "{replica}" in first["instruction"]


@every("instruction", ["Ответьте 1 или 2.", "Сколько {reply_1}?"])
def test_a_prompt_that_shows_none_of_the_inputs_is_refused(instruction: str, tmp_path: Path) -> None:
    data = tmp_path / "items.jsonl"
    rows = [
        {"instruction": "{query}", "inputs": {"query": "да", "reply_1": "а", "reply_2": "б"}},
        {"instruction": instruction, "inputs": {"query": "что?", "reply_1": "", "reply_2": "нет"}},
    ]
    lines = [json.dumps({**row, "outputs": "1", "meta": {"id": n}}) for n, row in enumerate(rows, start=1)]
    data.write_text("\n".join(lines) + "\n", encoding="utf-8")
    words = ["run", "--model", "random", "--datasets", "ruhhh", "--data", data, "--shots", 0]
    refused = merilo(*words, "--out", tmp_path / "run")
    assert refused.status == 1
    assert (
        "the prompt of item 2 of ruHHH shows none of its inputs (query, reply_1, reply_2)"
        in refused.complaint
    )

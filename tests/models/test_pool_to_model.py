"""From a platform's pool to a model that is asked the same items: commands and files only."""

import csv
import json
from pathlib import Path

import pytest
from command import merilo
from every import every
from scripted_server import MODEL, Answers, ScriptedServer

#: pool -> the columns whose texts a person saw for an item, and the number of items.
SHOWN = {
    "bps": (("parentheses",), 100),
    "lcs": (("string1", "string2"), 100),
    "rutie": (("question", "answer_1", "answer_2"), 430),
}

#: The pools whose gold answers a program computes; the gold of the others is closed.
SOLVED = ("bps", "lcs")


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture(scope="module")
def baselines(pools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the baseline of each pool, made with `--dataset`."""
    folder = tmp_path_factory.mktemp("baselines")
    for pool in SHOWN:
        made = merilo(
            "baseline", *sorted((pools / pool).glob("*.tsv")), "--dataset", pool, "--out", folder / pool
        )
        assert made.status in {0, 1}, made.err
    return folder


def items_of(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "items.jsonl").read_text("utf-8").splitlines()]


def asked(pool: str, data: Path, out: Path, model: str, *options: object):
    return merilo(
        "run", "--model", model, "--datasets", pool, "--data", data, "--shots", 0, "--out", out, *options
    )


def people_saw(folder: Path, columns: tuple[str, ...]) -> set[tuple[str, ...]]:
    """The texts of every item, from the table of the consensus, which names the pool's own columns."""
    with (folder / "consensus.csv").open(encoding="utf-8", newline="") as stream:
        return {tuple(row[name].removeprefix("'") for name in columns) for row in csv.DictReader(stream)}


@every("pool", list(SHOWN))
def test_a_server_is_sent_exactly_the_items_that_people_saw(
    pool: str, baselines: Path, tmp_path: Path
) -> None:
    columns, count = SHOWN[pool]
    saw = people_saw(baselines / pool, columns)
    assert len(items_of(baselines / pool)) == count
    with ScriptedServer(lambda _: Answers("1")) as server:
        given = f"model={MODEL},base_url={server.url},num_concurrent=16,timeout=60"
        run = asked(
            pool,
            baselines / pool / "items.jsonl",
            tmp_path / pool,
            "local-chat-completions",
            "--model-args",
            given,
        )
    assert run.status == 0, run.err
    prompts = [one.text for one in server.asked]
    assert len(prompts) == count
    for texts in saw:
        # A prompt of a dialogue holds the earlier turns too; its own question stands last.
        assert any(all(text in prompt for text in texts) for prompt in prompts), texts
    if pool != "rutie":
        assert len(set(prompts)) == count
        for prompt in prompts:
            assert any(all(text in prompt for text in texts) for texts in saw), prompt
    if pool == "lcs":  # two strings in one text, separated by a space, as in the dataset
        assert all(any(" ".join(texts) in prompt for texts in saw) for prompt in prompts)
    if pool == "rutie":
        assert max(map(len, prompts)) > 20_000


@every("pool", SOLVED)
def test_the_solver_s_gold_scores_everything_that_has_a_label(
    pool: str, baselines: Path, tmp_path: Path
) -> None:
    items = items_of(baselines / pool)
    labels = {"bps": {"0", "1"}, "lcs": set("0123456789")}[pool]
    readable = sum(item["outputs"] in labels for item in items)
    assert asked(pool, baselines / pool / "items.jsonl", tmp_path / f"{pool}-gold", "gold").status == 0
    found = merilo("compare", baselines / pool, tmp_path / f"{pool}-gold", "--json", "-")
    assert found.status == 0, found.err
    (model,) = found.json["models"]
    match = model["comparisons"]["consensus"]
    with (baselines / pool / "consensus.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    right = sum(row["label"] == row["gold"] for row in rows)
    assert match["n"] == len(items) == 100
    assert match["model"] == pytest.approx(readable / 100)
    assert match["people"] == pytest.approx(right / 100)


@every("pool", SOLVED)
def test_a_random_respondent_is_below_people_by_what_the_files_say(
    pool: str, baselines: Path, tmp_path: Path
) -> None:
    assert asked(pool, baselines / pool / "items.jsonl", tmp_path / f"{pool}-random", "random").status == 0
    answers = [
        json.loads(line)
        for line in (tmp_path / f"{pool}-random" / f"{pool}.jsonl").read_text("utf-8").splitlines()
    ]
    gold = {str(item["meta"]["id"]): item["outputs"] for item in items_of(baselines / pool)}
    right = sum(gold[str(row["id"])] == row["answer"] for row in answers) / len(gold)
    found = merilo("compare", baselines / pool, tmp_path / f"{pool}-random", "--json", "-")
    match = found.json["models"][0]["comparisons"]["consensus"]
    assert match["model"] == pytest.approx(right)
    assert match["difference"] < 0


@pytest.mark.thorough
@every("pool", [pool for pool in SHOWN if pool not in SOLVED])
def test_a_closed_test_is_asked_and_compare_says_that_it_cannot_score(
    pool: str, baselines: Path, tmp_path: Path
) -> None:
    data = baselines / pool / "items.jsonl"
    assert all(item["outputs"] == "" for item in items_of(baselines / pool))
    assert asked(pool, data, tmp_path / pool, "random").status == 0
    refused = merilo("compare", baselines / pool, tmp_path / pool)
    assert refused.status == 1
    assert "no item of this baseline has a gold answer" in refused.complaint
    no_gold = asked(pool, data, tmp_path / f"{pool}-gold", "gold")
    assert no_gold.status != 0
    assert "has no gold answer" in no_gold.complaint


@pytest.mark.thorough
def test_judging_projects_of_rudetox_are_not_the_dataset_s_items(pools: Path, tmp_path: Path) -> None:
    for number, file in enumerate(sorted((pools / "rudetox").glob("*.tsv"))):
        base = tmp_path / f"base{number}"
        merilo("baseline", file, "--dataset", "rudetox", "--out", base)
        refused = asked("rudetox", base / "items.jsonl", tmp_path / f"run{number}", "random")
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
    refused = asked("ruhhh", data, tmp_path / "run", "random")
    assert refused.status == 1
    assert (
        "the prompt of item 2 of ruHHH shows none of its inputs (query, reply_1, reply_2)"
        in refused.complaint
    )

"""The folder hb/ holds what a published baseline hands in, and every value follows from its raw answers."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mlcroissant
import polars as pl
import pytest
import yaml
from command import merilo as command
from every import every
from hb_notebook import run_notebook

import merilo
from merilo.baselines.published_folder import Discrepancy
from merilo.errors import OutputError
from merilo.reports.croissant import TABLES

LABELS = {"A": "AB", "B": "BA"}


def study(people: int = 5, items: int = 8, controls: int = 2, **columns: Any) -> pl.DataFrame:
    """A pool in which the last annotator fails every control item, and two items are hard."""
    rows = []
    for item in range(items + controls):
        right = "AB"[item % 2]
        for person in range(people):
            wrong = (person == people - 1 and people > 1) or (item in {3, 4} and person % 2)
            rows.append(
                {
                    "question": f"question {item}",
                    "domain": "sums" if item % 3 else "words",
                    "worker": f"person-{person}@platform",
                    "label": LABELS[right][wrong],
                    "golden": right if item >= items else None,
                    "page": f"{person}-{item // 2}",
                    "seconds": str(10 + item + person),
                    "reward": "0.05",
                    **columns,
                }
            )
    return pl.DataFrame(rows)


GOLD = {f"question {item}": "AB"[item % 2] for item in range(8)}
OPTIONS: dict[str, Any] = {
    "item": ["question"], "control": "golden", "page": "page", "seconds": "seconds", "reward": "reward",
    "annotator": "worker", "answer": "label",
}  # fmt: skip


def saved(folder: Path, table: pl.DataFrame | None = None, **given: Any) -> Path:
    """The folder of a baseline."""
    responses = merilo.read_responses(
        study() if table is None else table, **{**OPTIONS, **given.pop("read", {})}
    )
    merilo.baseline(responses, **{"gold": GOLD, "currency": "USD", **given}).save(folder)
    return folder


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("study") / "base")


@pytest.fixture
def hb(base: Path, tmp_path: Path) -> Path:
    """A copy of the folder, which a test may change."""
    shutil.copytree(base, tmp_path / "hb")
    return tmp_path / "hb"


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def names(found: list[Discrepancy]) -> set[str]:
    return {one.name for one in found}


def test_the_folder_has_at_most_sixteen_files_beside_raw_and_the_readme_names_each(hb: Path) -> None:
    files = set(contents(hb))
    beside = {name for name in files if not name.startswith("raw/")}
    assert beside == {
        "baseline.json", "consensus.csv", "annotators.csv", "doubtful.csv", "report.html", "items.html",
        "human_baseline_en.md", "cost_en.md", "hb.ipynb", "croissant.json",
        "checklist.md", "README.md", "manifest.json",
    }  # fmt: skip
    assert len(beside) <= 16
    raw = {"responses.csv", "items.csv", "gold.csv", "settings.json", "reading.yaml", "items.jsonl"}
    assert files - beside == {f"raw/{name}" for name in raw}
    readme = (hb / "README.md").read_text()
    for name in beside - {"README.md"}:
        assert f"`{name}`" in readme or f"`{name[:-5]}*.md`" in readme, name
    assert "# Human baseline" in readme
    for name, data in contents(hb).items():
        assert not re.search(
            "[а-яё]|MERA|the benchmark|published (procedure|tables)", data.decode(), re.IGNORECASE
        ), name


def test_the_folder_is_loaded_and_verified(hb: Path) -> None:
    baseline = merilo.load(hb)
    assert baseline.to_json() == json.loads((hb / "baseline.json").read_text())
    assert baseline.consensus.height == 8
    assert merilo.verify(hb) == []


def test_no_file_names_an_annotator_of_the_platform_or_a_folder_of_this_machine(hb: Path, base: Path) -> None:
    for name, data in contents(hb).items():
        assert b"@platform" not in data, name
        assert str(base.parent).encode() not in data, name


def test_a_changed_value_is_named_with_both_values(hb: Path) -> None:
    path = hb / "baseline.json"
    content = json.loads(path.read_text())
    value = content["metrics"]["acc"]["value"]
    content["metrics"]["acc"]["value"] = 0.999
    path.write_text(json.dumps(content))
    found = merilo.verify(hb)
    assert ("metrics.acc.value", 0.999, value) in found
    assert names(found) == {"metrics.acc.value", "baseline.json"}


def test_added_and_missing_rows_are_named_without_their_cells(hb: Path) -> None:
    path = hb / "consensus.csv"
    header, first, *rows = path.read_text().splitlines()
    path.write_text("\n".join([header, *rows, ""]) + "\n")
    changes = merilo.verify(hb)[1:]
    assert changes == [
        ("consensus.csv.an empty line", "there", "missing"),
        (f"consensus.csv.{first.partition(',')[0]}", "missing", "there"),
    ]


def test_changed_missing_and_unknown_files_are_named(hb: Path) -> None:
    (hb / "README.md").write_text("another text")
    (hb / "checklist.md").unlink()
    (hb / "notes.txt").write_text("mine")
    (hb / ".ipynb_checkpoints").mkdir()
    (hb / ".ipynb_checkpoints" / "hb-checkpoint.ipynb").write_text("{}")
    assert merilo.verify(hb) == [
        ("README.md", "as in the manifest", "changed"),
        ("notes.txt", "not in the manifest", None),
        ("checklist.md", "as in the manifest", "missing"),
    ]


def test_a_notebook_that_was_run_counts_as_unchanged_but_not_one_with_other_code(hb: Path) -> None:
    path = hb / "hb.ipynb"
    book = json.loads(path.read_text())
    code = next(cell for cell in book["cells"] if cell["cell_type"] == "code")
    code["execution_count"] = 1
    code["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["done"]}]
    path.write_text(json.dumps(book))
    assert merilo.verify(hb) == []
    code["source"] = ["print(1)"]
    path.write_text(json.dumps(book))
    assert names(merilo.verify(hb)) == {"hb.ipynb"}


def test_an_existing_folder_is_replaced_only_with_force(hb: Path, base: Path) -> None:
    (hb / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match="exists already"):
        merilo.report(base, hb)
    assert (hb / "notes.txt").exists()
    merilo.report(base, hb, force=True)
    assert contents(hb) == contents(base)
    with pytest.raises(OutputError, match="would be overwritten"):
        merilo.report(base, base.parent, force=True)


def test_the_metadata_of_the_dataset_gets_the_value_or_it_is_said_why_not(tmp_path: Path) -> None:
    cards = tmp_path / "dataset"
    cards.mkdir()
    meta = {"metrics": {"Accuracy": {"en": "share", "ru": "доля"}}, "human_benchmark": {}}
    (cards / "raw_dataset_meta.json").write_text(json.dumps(meta))
    (cards / "raw_readme_en.json").write_text(json.dumps({"Motivation": "why"}))
    done = merilo.report(saved(tmp_path / "base"), tmp_path / "hb", cards=cards)
    card = json.loads((tmp_path / "hb" / "raw_dataset_meta.json").read_text())
    assert card["human_benchmark"] == {
        "Accuracy": pytest.approx(done.baseline.metrics["acc"].value, abs=1e-4)
    }
    readme = json.loads((tmp_path / "hb" / "raw_readme_en.json").read_text())
    assert readme["Motivation"] == "why"
    assert readme["Human baseline"] in (tmp_path / "hb" / "human_baseline_en.md").read_text()
    found = merilo.report(saved(tmp_path / "closed", gold=None), tmp_path / "closed-hb", cards=cards)
    assert any("human_benchmark is not written" in remark for remark in found.remarks)
    assert "raw_dataset_meta.json" not in found.files


def of_texts() -> pl.DataFrame:
    table = study(controls=0)
    return table.with_columns(
        label=pl.col("label")
        + "-"
        + pl.col("worker").str.head(8).replace({"person-0": "=1+1", "person-1": "+х"})
    )


KINDS: Mapping[str, Any] = {
    "open answers": {"table": of_texts(), "gold": None},
    "no controls": {"table": study(controls=0)},
    "no gold": {"gold": None},
    "one person": {"table": study(people=1, controls=0)},
    "groups, skills and other settings": {
        "by": ["domain"], "read": {"item": ["question", "domain"]},
        "gold": pl.DataFrame({"question": list(GOLD), "gold": list(GOLD.values()), "id": [f"id-{n}" for n in range(8)]}),
        "skills": {"person-0@platform": 90.0, "person-1@platform": 10.0}, "aggregator": "dawid-skene", "resolve": "none",
        "min_controls": 2,
    },
    "pages without times and rewards": {
        "table": study().drop("page", "seconds", "reward"), "read": {"page": None, "seconds": None, "reward": None},
    },
}  # fmt: skip


@every("kind", KINDS)
def test_every_kind_of_pool_is_written_and_verified(kind: str, tmp_path: Path) -> None:
    given, folder = dict(KINDS[kind]), tmp_path / kind
    saved(folder, given.pop("table", None), **given)
    assert merilo.verify(folder) == []
    run_notebook(folder)
    if "gold" in given and given["gold"] is None:
        assert json.loads((folder / "baseline.json").read_text())["gold"] is None
        assert "The gold answers are closed or unknown" in (folder / "README.md").read_text()
        assert not (folder / "raw" / "gold.csv").exists()
        assert kind == "open answers" or "no gold answer" in (folder / "items.html").read_text()


@pytest.mark.thorough
def test_models_and_a_dataset_of_ones_own_are_included(tmp_path: Path) -> None:
    declaration, model, hb = tmp_path / "mine.yaml", tmp_path / "some-model.jsonl", tmp_path / "hb"
    answer = "answer: {kind: choice, labels: [A, B]}\nmetrics: [acc]\n"
    declaration.write_text(f"name: mine\ntitle: Mine\nfields: [question]\n{answer}")
    gold = pl.DataFrame({"question": [*GOLD], "gold": [*GOLD.values()], "id": [str(n) for n in range(8)]})
    model.write_text("".join(json.dumps({"id": str(n), "answer": "A"}) + "\n" for n in range(8)))
    responses = merilo.read_responses(study(), **OPTIONS)
    merilo.baseline(responses, dataset=str(declaration), gold=gold, models=[model]).save(hb)
    assert (hb / "raw" / "models" / "1" / "some-model.jsonl").read_bytes() == model.read_bytes()
    assert (hb / "raw" / "dataset.yaml").exists()
    assert merilo.verify(hb) == []
    assert "some-model" in (hb / "report.html").read_text()
    assert [name for name, data in contents(hb).items() if str(tmp_path).encode() in data] == []
    run_notebook(hb)


#: Runs the code of a notebook where only merilo and what it needs can be imported.
ALONE = """
import json, re, sys
from importlib import metadata


def name_of(text):
    return re.match(r"[\\w.-]+", text)[0].lower().replace("_", "-")


installed, needed, todo = {name_of(each.name) for each in metadata.distributions()}, set(), {"merilo"}
while todo:
    needed |= todo
    lines = [line for name in todo for line in metadata.requires(name) or () if "extra ==" not in line]
    todo = ({*map(name_of, lines)} & installed) - needed
owners = metadata.packages_distributions().items()
allowed = {"merilo", *(top for top, names in owners if {*map(name_of, names)} & needed)}


class OnlyMerilo:
    def find_spec(self, name, path=None, target=None):
        top = name.split(".")[0]
        if top in sys.stdlib_module_names or top in allowed or top.startswith("_"):
            return None
        raise ModuleNotFoundError(f"{name} is not part of an environment with only merilo")


sys.meta_path.insert(0, OnlyMerilo())
for cell in json.load(open("hb.ipynb", encoding="utf-8"))["cells"]:
    if cell["cell_type"] == "code":
        exec("".join(cell["source"]), globals())
"""


def test_the_notebook_passes_in_an_environment_with_only_merilo(hb: Path) -> None:
    done = subprocess.run([sys.executable, "-c", ALONE], cwd=hb, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "every published value follows from the raw answers" in done.stdout


def test_registries_and_the_hub_find_every_row(
    hb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(hb)
    described = mlcroissant.Dataset("croissant.json")
    assert not described.metadata.ctx.issues.errors
    for name, (file, _) in TABLES.items():
        assert len([*described.records(name)]) == pl.read_csv(hb / file).height > 0
    front = yaml.safe_load((hb / "README.md").read_text().split("---\n")[1])
    tables = {one["config_name"]: one["data_files"] for one in front["configs"]}
    assert tables == {name: file for name, (file, _) in TABLES.items()}
    datasets = pytest.importorskip("datasets")
    rows = datasets.load_dataset(str(hb), "consensus", cache_dir=str(tmp_path / "cache"))["train"]
    assert rows.num_rows == pl.read_csv(hb / "consensus.csv").height


#: Two numbers with a decimal point and what stands between them.
SPAN = r"(\d\.\d{3})\s*(?:[–,]|to)\s*(\d\.\d{3})"


def test_every_place_shows_the_interval_of_record(base: Path, tmp_path: Path) -> None:
    study().drop("golden").write_csv(tmp_path / "answers.csv")
    pl.DataFrame({"question": [*GOLD], "gold": [*GOLD.values()]}).write_csv(tmp_path / "gold.csv")
    words = ["--item", "question", "--annotator", "worker", "--answer", "label", "--gold"]
    done = command(
        "baseline",
        tmp_path / "answers.csv",
        *words,
        tmp_path / "gold.csv",
        "--details",
        "--out",
        tmp_path / "hb",
    )
    interval = merilo.load(tmp_path / "hb").metrics["acc"].ci95
    assert interval is not None
    table = next(line for line in command("table", tmp_path / "hb").out.splitlines() if "[hb]" in line)
    places = {
        "terminal": (done.out, "of the consensus of"),
        "its table": (done.out, "Accuracy, consensus"),
        "table": (table, "|"),
    }
    for name in ("report.html", "README.md", "human_baseline_en.md", "cost_en.md"):
        places[name] = (tmp_path / "hb" / name).read_text(encoding="utf-8"), "of the consensus of"
    for name, (text, words_before) in places.items():
        found = re.search(SPAN, text.replace("\u00a0", " ").split(words_before, 1)[1])
        assert found, name
        assert found.groups() == tuple(f"{end:.3f}" for end in interval), name

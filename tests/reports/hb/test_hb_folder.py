"""The folder hb/ holds what a published baseline hands in, and every figure follows from its raw answers."""

import contextlib
import hashlib
import json
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
from every import every

import merilo
from merilo.errors import DataError, InputError, OutputError
from merilo.reports.hb.registries import TABLES
from merilo.reports.human_table import read_study
from merilo.studies.study_folder import combined_hash

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


@pytest.fixture(scope="module")
def made(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder hb/, which tests only read."""
    out = tmp_path_factory.mktemp("report") / "hb"
    merilo.report(base, out)
    return out


@pytest.fixture
def hb(made: Path, tmp_path: Path) -> Path:
    """A copy of the folder, which a test may change."""
    shutil.copytree(made, tmp_path / "hb")
    return tmp_path / "hb"


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_the_folder_holds_every_file_that_the_guide_lists(hb: Path) -> None:
    files = contents(hb)
    assert {
        "raw/responses.csv", "raw/items.csv", "raw/gold.jsonl", "raw/reading.json", "annotators.csv", "consensus.csv",
        "metrics.json", "costs.json", "plan/settings.json", "report.html", "hb.ipynb", "README.md", "README_ru.md",
        "manifest.json",
    } <= set(files)  # fmt: skip
    for readme in ("README.md", "README_ru.md"):
        text = files[readme].decode()
        for name in files:
            assert (
                f"`{name}`" in text
                or f"`{name.split('/')[0]}/`" in text
                or name == readme
                or name[:6] == "README"
            ), name


def test_every_figure_follows_and_every_file_is_unchanged(hb: Path) -> None:
    found = merilo.verify(hb)
    assert found.ok
    names = {one.name for one in found.figures}
    assert {
        "metrics.acc.value", "metrics.acc.ci95.0", "responses.used", "annotators.excluded", "cost.total",
        "cost.hourly", "agreement.krippendorff_alpha", "consensus.csv, item 1, label",
    } <= names  # fmt: skip


def test_no_file_names_an_annotator_of_the_platform_or_a_folder_of_this_machine(hb: Path, base: Path) -> None:
    for name, data in contents(hb).items():
        assert b"@platform" not in data, name
        assert str(base.parent).encode() not in data, name


@pytest.mark.thorough
def test_the_same_baseline_gives_the_same_bytes(hb: Path, base: Path, tmp_path: Path) -> None:
    merilo.report(base, tmp_path / "again")
    assert contents(tmp_path / "again") == contents(hb)


def test_one_changed_answer_names_the_figures_that_moved(hb: Path) -> None:
    path = hb / "raw" / "responses.csv"
    lines = path.read_text().splitlines(keepends=True)
    place = next(n for n, line in enumerate(lines) if line.startswith("4,") and ",B," in line)
    lines[place] = lines[place].replace(",B,", ",A,", 1)
    path.write_text("".join(lines))
    found = merilo.verify(hb)
    assert not found.ok
    assert found.files.changed == ("raw/responses.csv",)
    moved = {one.name for one in found.moved}
    assert "agreement.krippendorff_alpha" in moved
    assert "consensus.csv, item 4, answers" in moved
    assert "cost.total" not in moved


def test_a_changed_figure_is_named_though_its_hash_was_changed_too(hb: Path) -> None:
    path, manifest = hb / "metrics.json", hb / "manifest.json"
    content = json.loads(path.read_text())
    published = content["metrics"]["acc"]["value"]
    content["metrics"]["acc"]["value"] = 0.999
    path.write_text(json.dumps(content))
    entries = json.loads(manifest.read_text())
    entries["files"]["metrics.json"]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    manifest.write_text(json.dumps(entries))
    found = merilo.verify(hb)
    assert not found.files.changed
    assert [(one.name, one.published, one.recomputed) for one in found.moved] == [
        ("metrics.acc.value", 0.999, published)
    ]


def test_changed_missing_and_unknown_files_are_named(hb: Path) -> None:
    (hb / "README.md").write_text("another text")
    (hb / "paper" / "csv" / "metrics.csv").unlink()
    (hb / "notes.txt").write_text("mine")
    (hb / ".ipynb_checkpoints").mkdir()
    (hb / ".ipynb_checkpoints" / "hb-checkpoint.ipynb").write_text("{}")
    found = merilo.verify(hb)
    assert not found.ok
    assert not found.moved
    assert found.files.changed == ("README.md",)
    assert found.files.missing == ("paper/csv/metrics.csv",)
    assert found.files.extra == ("notes.txt",)


def test_a_notebook_that_was_run_counts_as_unchanged_but_not_one_with_other_code(hb: Path) -> None:
    path = hb / "hb.ipynb"
    book = json.loads(path.read_text())
    code = next(cell for cell in book["cells"] if cell["cell_type"] == "code")
    code["execution_count"], code["outputs"] = (
        1,
        [{"output_type": "stream", "name": "stdout", "text": ["done"]}],
    )
    path.write_text(json.dumps(book))
    assert merilo.verify(hb).ok
    code["source"] = ["print(1)"]
    path.write_text(json.dumps(book))
    assert merilo.verify(hb).files.changed == ("hb.ipynb",)


def test_raw_answers_that_cannot_be_read_are_a_fault_and_not_a_figure(hb: Path) -> None:
    (hb / "raw" / "responses.csv").write_text("nothing\n")
    found = merilo.verify(hb)
    assert not found.ok
    assert found.files.changed == ("raw/responses.csv",)
    assert "nothing can be recomputed" in found.faults[0]
    assert "responses.csv" in found.faults[0]


def test_another_folder_is_no_folder_of_a_report(base: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is not a folder of merilo report: manifest\.json is missing"):
        merilo.verify(base)
    with pytest.raises(InputError, match="there is no such folder"):
        merilo.report(tmp_path / "nowhere", tmp_path / "hb")
    (tmp_path / "other").mkdir()
    with pytest.raises(
        InputError, match=r"baseline\.json is missing \(results of other commands, such as code"
    ):
        merilo.report(tmp_path / "other", tmp_path / "hb")
    assert not (tmp_path / "hb").exists()


def test_a_baseline_without_its_raw_answers_must_be_made_again(base: Path, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "baseline.json").write_bytes((base / "baseline.json").read_bytes())
    with pytest.raises(InputError, match=r"has no raw answers \(raw/ is missing\).*make the baseline again"):
        merilo.report(tmp_path / "old", tmp_path / "hb")


def test_a_baseline_whose_figure_was_changed_is_refused(base: Path, tmp_path: Path) -> None:
    shutil.copytree(base, tmp_path / "base")
    path = tmp_path / "base" / "baseline.json"
    content = json.loads(path.read_text())
    content["cost"]["total"] = 1000.0
    path.write_text(json.dumps(content))
    with pytest.raises(DataError, match=r"cost\.total: 1 value differs.*1000\.0"):
        merilo.report(tmp_path / "base", tmp_path / "hb")


def test_an_existing_folder_is_replaced_only_with_force(hb: Path, base: Path) -> None:
    (hb / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match="exists already"):
        merilo.report(base, hb)
    assert (hb / "notes.txt").exists()
    merilo.report(base, hb, force=True)
    assert merilo.verify(hb).ok
    with pytest.raises(OutputError, match="would be overwritten"):
        merilo.report(base, base.parent, force=True)


def test_the_plan_of_a_study_and_its_instruction_are_included(base: Path, tmp_path: Path) -> None:
    folder = tmp_path / "STUDY"
    shutil.copytree(base, folder / "baseline")
    plan = "name: sums\nfrozen: 2026-11-22\npeople:\n  overlap: 5\n"
    (folder / "study.yaml").write_text(plan)
    files = {"study.yaml": hashlib.sha256(b"an earlier plan").hexdigest()}
    frozen = {"date": "2026-11-22", "files": files, "hash": combined_hash(files)}
    earlier = {"name": "sums", "frozen": "2026-11-22", "people": {"overlap": 3}}
    (folder / "frozen.json").write_text(json.dumps({**frozen, "plan": earlier}))
    (folder / "instruction_ru.md").write_text("# Инструкция\n")
    found = merilo.report(folder, tmp_path / "hb")
    assert (tmp_path / "hb" / "plan" / "study.yaml").read_text() == plan
    assert {"plan/frozen.json", "plan/instruction_ru.md"} <= set(found.files)
    changes = json.loads((tmp_path / "hb" / "plan" / "changes.json").read_text())
    assert [(one["what"], one["frozen"], one["now"]) for one in changes] == [("people.overlap", "3", "5")]
    assert any("changed after it was frozen" in remark for remark in found.remarks)
    assert "`plan/instruction_ru.md`" in (tmp_path / "hb" / "README_ru.md").read_text()
    shutil.rmtree(folder / "baseline")
    with pytest.raises(InputError, match="this study has no baseline yet"):
        merilo.report(folder, tmp_path / "hb", force=True)


def test_the_metadata_of_the_dataset_gets_the_figure_or_it_is_said_why_not(tmp_path: Path) -> None:
    cards = tmp_path / "dataset"
    cards.mkdir()
    meta = {"metrics": {"Accuracy": {"en": "share", "ru": "доля"}}, "human_benchmark": {}}
    (cards / "raw_dataset_meta.json").write_text(json.dumps(meta))
    merilo.report(saved(tmp_path / "base"), tmp_path / "hb", cards=cards)
    card = json.loads((tmp_path / "hb" / "cards" / "raw_dataset_meta.json").read_text())
    metrics = json.loads((tmp_path / "hb" / "metrics.json").read_text())["metrics"]
    assert card["human_benchmark"] == {"Accuracy": pytest.approx(metrics["acc"]["value"], abs=1e-4)}
    found = merilo.report(saved(tmp_path / "closed", gold=None), tmp_path / "closed-hb", cards=cards)
    assert any("human_benchmark is not written" in remark for remark in found.remarks)
    assert "cards/raw_dataset_meta.json" not in found.files


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
def test_every_kind_of_pool_is_reported_and_verified(kind: str, tmp_path: Path) -> None:
    given, folder = dict(KINDS[kind]), tmp_path / kind
    base = saved(folder / "base", given.pop("table", None), **given)
    merilo.report(base, folder / "hb")
    found = merilo.verify(folder / "hb")
    assert found.ok, (found.moved, found.files, found.faults)
    run_code(folder / "hb")
    content = json.loads((folder / "hb" / "metrics.json").read_text())
    assert (content["gold"] is None) == ("gold" in given and given["gold"] is None)
    if content["gold"] is None:
        assert "The gold answers are closed or unknown" in (folder / "hb" / "README.md").read_text()
        assert not (folder / "hb" / "raw" / "gold.jsonl").exists()
        assert kind == "open answers" or "no gold answer" in (folder / "hb" / "items.html").read_text()


@pytest.mark.thorough
def test_models_and_a_dataset_of_ones_own_are_included(tmp_path: Path) -> None:
    declaration = tmp_path / "mine.yaml"
    declaration.write_text(
        "name: mine\ntitle: Mine\nfields: [question]\nanswer: {kind: choice, labels: [A, B]}\nmetrics: [acc]\n"
    )
    gold = pl.DataFrame(
        {"question": list(GOLD), "gold": list(GOLD.values()), "id": [str(n) for n in range(8)]}
    )
    model = tmp_path / "some-model.jsonl"
    model.write_text("".join(json.dumps({"id": str(n), "answer": "A"}) + "\n" for n in range(8)))
    responses = merilo.read_responses(study(), **OPTIONS)
    merilo.baseline(responses, dataset=str(declaration), gold=gold, models=[model]).save(tmp_path / "base")
    merilo.report(tmp_path / "base", tmp_path / "hb")
    assert (tmp_path / "hb" / "raw" / "models" / "1" / "some-model.jsonl").read_bytes() == model.read_bytes()
    assert (tmp_path / "hb" / "raw" / "dataset.yaml").exists()
    found = merilo.verify(tmp_path / "hb")
    assert found.ok, (found.moved, found.faults)
    assert any(one.name.startswith("models.") for one in found.figures)
    for name, data in contents(tmp_path / "hb").items():
        assert str(tmp_path).encode() not in data, name
    run(tmp_path / "hb")


def run_code(folder: Path) -> None:
    """Run the cells of the notebook in this process, which takes a fraction of the time of a kernel."""
    book = json.loads((folder / "hb.ipynb").read_text(encoding="utf-8"))
    with contextlib.chdir(folder):
        names: dict[str, object] = {}
        for cell in book["cells"]:
            if cell["cell_type"] == "code":
                exec("".join(cell["source"]), names)


def run(folder: Path) -> None:
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    book = nbformat.read(folder / "hb.ipynb", as_version=4)
    nbformat.validate(book)
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()


@pytest.mark.thorough
def test_the_notebook_passes_run_all(hb: Path) -> None:
    run(hb)


@pytest.mark.thorough
def test_the_notebook_fails_after_a_raw_answer_was_changed(hb: Path) -> None:
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    path = hb / "raw" / "responses.csv"
    path.write_text(path.read_text().replace(",A,,false", ",B,,false", 1))
    with pytest.raises(
        nbclient.exceptions.CellExecutionError, match=r"do not follow from the raw answers|assert"
    ):
        run(hb)


#: Runs the code of a notebook where only merilo and what it needs can be imported.
ALONE = """
import json, re, sys
from importlib import metadata

needed, todo = set(), ["merilo"]
while todo:
    name = todo.pop()
    if name in needed:
        continue
    needed.add(name)
    for one in metadata.requires(name) or ():
        if "extra ==" not in one:
            own = re.match(r"[\\w.-]+", one)[0].lower().replace("_", "-")
            try:
                metadata.distribution(own)
            except metadata.PackageNotFoundError:
                continue  # for other systems
            todo.append(own)
allowed = {"merilo"} | {
    top for top, owners in metadata.packages_distributions().items()
    if {one.lower().replace("_", "-") for one in owners} & needed
}


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
    assert "published figures follow from the raw answers" in done.stdout


def test_the_table_of_human_baselines_reads_the_folder(hb: Path) -> None:
    found = read_study(hb)
    assert (
        found.record.cost.total
        == json.loads((hb / "costs.json").read_text())["cost"]["total"]
        == pytest.approx(1.25)
    )
    assert found.record.metrics["acc"].n == 8


@pytest.mark.parametrize("rule", ["agreed", "all"])
def test_the_plan_chooses_the_items_of_human_benchmark_and_the_card_says_which(
    rule: str, tmp_path: Path
) -> None:
    cards = tmp_path / "dataset"
    cards.mkdir()
    meta = {"metrics": {"Accuracy": {"en": "share", "ru": "доля"}}, "human_benchmark": {}}
    (cards / "raw_dataset_meta.json").write_text(json.dumps(meta))
    # Nobody has a majority on item 0, whose answers are all wrong.
    table = study(people=5, controls=0).filter(pl.col("worker") != "person-4@platform")
    split = pl.col("question") == "question 0"
    table = table.with_columns(
        pl.when(split)
        .then(pl.col("worker").replace({"person-0@platform": "AB", "person-1@platform": "AB"}))
        .otherwise("label")
        .alias("label")
    )
    base = saved(tmp_path / "base", table, human_benchmark=rule, max_low_agreement=0.9)
    merilo.report(base, tmp_path / "hb", cards=cards)
    content = json.loads((tmp_path / "hb" / "metrics.json").read_text())
    chosen = content["human_benchmark"]
    assert chosen["items"] == rule
    metric = content["metrics"]["acc"]
    expected = metric["by_majority_alone"] if rule == "agreed" else metric
    assert chosen["metrics"]["acc"] == {"value": expected["value"], "n": expected["n"]}
    card = json.loads((tmp_path / "hb" / "cards" / "raw_dataset_meta.json").read_text())
    assert card["human_benchmark"] == {"Accuracy": round(expected["value"], 4)}
    section = (tmp_path / "hb" / "cards" / "human_baseline_en.md").read_text()
    which = "the items with a majority only" if rule == "agreed" else "all items with a consensus"
    assert f"metadata is that of {which}: {expected['n']} of 8." in section
    assert merilo.verify(tmp_path / "hb").ok


AUTHORS = ("Anna Petrova", "Борис & Co")


@pytest.fixture(scope="module")
def published(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("published") / "hb"
    merilo.report(base, out, authors=AUTHORS, licence="CC-BY-4.0", repo="lab/people")
    return out


def test_croissant_is_valid_and_loads_every_row(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(published)
    loaded = mlcroissant.Dataset("croissant.json")
    assert not loaded.metadata.ctx.issues.errors
    assert all("datePublished" in found for found in loaded.metadata.ctx.issues.warnings)
    assert loaded.metadata.creators is not None
    assert [one.name for one in loaded.metadata.creators] == list(AUTHORS)
    for name, (file, _) in TABLES.items():
        rows = [*loaded.records(name)]
        assert len(rows) == pl.read_csv(published / file).height > 0
    assert "annotators" in str(loaded.metadata.data_collection)
    assert loaded.metadata.annotations_per_item


def test_the_hub_finds_the_tables_and_the_citation_names_the_authors(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    front = yaml.safe_load((published / "README.md").read_text().split("---\n")[1])
    assert front["license"] == "cc-by-4.0"
    assert {one["config_name"]: one["data_files"] for one in front["configs"]} == {
        name: file for name, (file, _) in TABLES.items()
    }
    datasets = pytest.importorskip("datasets")
    loaded = datasets.load_dataset(str(published), "consensus", cache_dir=str(tmp_path))["train"]
    assert loaded.num_rows == pl.read_csv(published / "consensus.csv").height
    citation = yaml.safe_load((published / "CITATION.cff").read_text())
    assert [one["name"] for one in citation["authors"]] == list(AUTHORS)
    assert r"{Борис \& Co}" in (published / "citation.bib").read_text()
    assert merilo.verify(published).ok

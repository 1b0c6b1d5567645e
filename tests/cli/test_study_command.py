import json
import shutil
from pathlib import Path

import pytest
from command import done, merilo

from merilo.datasets.generators import generate_splits
from merilo.items import write_splits


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "lcs.json"
    write_splits(path, generate_splits("lcs", 60, seed=1, shots=30))
    return path


def test_a_study_is_created_validated_and_frozen(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "study"
    made = done("study", "create", data, "--dataset", "lcs", "--out", out, "--json", "-").json
    assert (made["items"], made["controls"]["items"]) == ({"asked": 60, "of": 60}, 4)
    assert done("study", "validate", out).out.splitlines()[-1] == f"{out}: valid"
    refused = merilo("study", "freeze", out)
    assert (refused.status, (out / "frozen.json").exists()) == (1, False)
    assert "the plan was not frozen; to freeze it nevertheless, give --yes" in refused.complaint
    frozen = done("study", "freeze", out, "--date", "2026-02-03", "--yes", "--json", "-").json
    assert (frozen["date"], frozen["hash"]) == (
        "2026-02-03",
        json.loads((out / "frozen.json").read_text())["hash"],
    )


def test_a_typing_mistake_is_named_with_its_line_and_the_nearest_key(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "study"
    merilo("study", "create", data, "--dataset", "lcs", "--out", out)
    plan = out / "study.yaml"
    plan.write_text(
        plan.read_text(encoding="utf-8").replace("    overlap: 5", "    overlp: 5"), encoding="utf-8"
    )
    line = next(number for number, text in enumerate(plan.read_text().splitlines(), 1) if "overlp" in text)
    checked = merilo("study", "validate", out)
    assert checked.status == 1
    said = f"study.yaml, row {line}, arms.people.overlp: is not a key of the plan; did you mean 'overlap'?"
    assert checked.out.splitlines() == [said, f"{out}: invalid: 1 problem"]
    listed = merilo("study", "validate", out, "--json", "-").json
    assert listed["problems"] == [
        {
            "file": "study.yaml",
            "row": line,
            "field": "arms.people.overlp",
            "message": "is not a key of the plan; did you mean 'overlap'?",
        }
    ]
    assert merilo("study", "freeze", out).status == 2


#: The words after `merilo study`, the exit status, and what is said; FOLDER is a folder that exists, STUDY a study that
#: is not frozen, EMPTY one whose plan is an empty file. 2: the words, or a file that cannot be read; 1: what it says.
BAD_CALLS = [
    ("create lcs.json --dataset lcs --out FOLDER", 2, "exists already"),
    ("create FOLDER/lcs.json --out FOLDER --force", 2, "FOLDER"),  # it may not replace its own dataset
    ("validate FOLDER", 2, "study.yaml is missing"),
    ("create lcs.json --dataset lsc --out other", 2, "did you mean lcs"),
    ("create lcs.json --dataset lcs --out other --size 99", 2, "merilo: --size takes a number from 1 to 60, the items of the dataset"),
    ("create none.json --dataset lcs --out other", 2, "merilo: none.json: there is no such file"),
    ("create bps.json --dataset bps --out other", 1, "merilo: bps.json, inputs: the prompt of item 1 names {nofield}, which the item does not have"),
    ("create lcs.json --dataset lcs --out other --controls 5", 2, "merilo: --controls takes items that are not drawn, and all 60 items are drawn: draw fewer with --size"),
    ("create lcs.json --dataset lcs --out other --controls 31 --size 30", 2, "merilo: --controls takes a number from 1 to 30, the items that are not drawn"),
    ("create open.json --dataset lcs --out other --controls 1 --size 1", 1, "merilo: open.json: no item that is not drawn can serve for controls"),
    ("freeze STUDY --date 2999-01-01", 2, "merilo: --date: 2999-01-01 is in the future (today is "),
    ("freeze STUDY --date tomorrow", 2, "merilo: --date takes a date such as"),
    ("freeze EMPTY", 2, "merilo: study.yaml, row 1: is not a plan of a study"),
    ("export EMPTY --platform table --out other", 2, "merilo: study.yaml, row 1: is not a plan of a study"),
    ("backup STUDY --out lcs.json/copy.db", 2, "lcs.json is not a folder)"),
    ("serve STUDY", 1, "merilo: STUDY: the plan is not frozen"),
    ("baseline STUDY", 1, "merilo: STUDY: the study has no answers of the arm 'people' yet"),
    ("baseline STUDY --arm experts", 2, "merilo: --arm: the study has no arm 'experts', only people"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "status", "says"), BAD_CALLS)
def test_bad_calls_are_refused_in_one_sentence(
    words: str, status: int, says: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "FOLDER").mkdir()
    shutil.copy(data, tmp_path / "FOLDER")
    item = {"instruction": "{nofield}", "inputs": "( )", "outputs": "1", "meta": {"id": 1}}
    (tmp_path / "bps.json").write_text(json.dumps({"data": {"test": [item]}}), encoding="utf-8")
    unsolved = [
        {"instruction": "{inputs}", "inputs": f"AB AC{n}", "outputs": None, "meta": {"id": n}} for n in (1, 2)
    ]
    (tmp_path / "open.json").write_text(json.dumps({"data": {"test": unsolved}}), encoding="utf-8")
    if "STUDY" in words or "EMPTY" in words:
        done("study", "create", data, "--dataset", "lcs", "--out", "STUDY")
        shutil.copytree("STUDY", "EMPTY")
        Path("EMPTY/study.yaml").write_text("")
    refused = merilo("study", *words.split(" "))
    assert refused.status == status
    *notes, complaint = refused.err.splitlines()
    assert says in complaint
    assert not notes or words.startswith("baseline")  # it also says that the plan is not frozen
    assert not (tmp_path / "other").exists()
    assert (tmp_path / "FOLDER" / "lcs.json").exists()

from pathlib import Path

import pytest
from every import every

from merilo.errors import InputError
from merilo.settings import PlannedAnalysis
from merilo.studies.plan import (
    Arm,
    ControlsPlan,
    DrawnSubset,
    OwnWords,
    Pay,
    Plan,
    SourceFile,
    TrainingPlan,
    keys_at,
    plan_text,
    read_plan,
    read_plan_text,
)

PLAN = Plan(
    study="Имя: с двоеточием",
    dataset="bps",
    languages=("ru", "en"),
    seed=7,
    source=SourceFile(file="a folder/bps.json", sha256="00ff"),
    arms={
        "people": Arm(kind="untrained", pay=Pay(per_page=0.25, currency="RUB"), time_limit=60.0),
        "experts": Arm(kind="expert", overlap=3, people=4, skip_own=True),
    },
    restrictions=(
        OwnWords(ru="Не «гуглите»: никогда", en="no # search"),
        OwnWords(ru="только", en=None),
    ),
    subset=DrawnSubset(size=10, of=100, fields=("domain", "answer"), per_domain=2, method="even"),
    controls=ControlsPlan(every=10),
    training=TrainingPlan(threshold=0.75, feedback=False),
    instruction={"ru": "ru.md", "en": "en.md"},
    baseline=PlannedAnalysis(metric="acc", min_votes=3, by=("domain",), min_control_accuracy=0.7),
    checklist={"1.9": "yes: the board", "1.10": ""},
    publication={"paper": "https://example.org", "other": ""},
)
TEXT = plan_text(PLAN, folder="study")


def written(folder: Path, text: str) -> Path:
    (folder / "study.yaml").write_text(text, encoding="utf-8")
    return folder


def test_a_plan_that_is_written_is_read_back_the_same(tmp_path: Path) -> None:
    found = read_plan(written(tmp_path, TEXT))
    asked = {number: answer for number, answer in found.checklist.items() if answer}
    assert asked == {"1.9": "yes: the board"}
    assert found.publication["paper"] == "https://example.org"
    same = {
        name: getattr(found, name)
        for name in Plan.__dataclass_fields__
        if name not in {"checklist", "publication"}
    }
    assert same == {name: getattr(PLAN, name) for name in same}


@every(
    "old, new, message",
    [
        ("    overlap: 5", "    overlp: 5", "arms.people.overlp: is not a key of the plan; did you mean 'overlap'?"),
        ("    overlap: 5", "    overlap: five", "arms.people.overlap: must be a whole number"),
        ("    overlap: 5", "    overlap: 0", "arms.people.overlap: must be 1 or more"),
        ("    overlap: 5", "    overlap: true", "arms.people.overlap: must be a whole number"),
        ("    kind: untrained", "    kind: crowd", "arms.people.kind: must be 'basic', 'expert' or 'untrained'"),
        ("per_page: 0.25", "per_page: yes", "arms.people.pay.per_page: must be a number"),
        ("seed: 7", "sed: 7", "sed: is not a key of the plan; did you mean 'seed'?"),
        ("  size: 10", "  size: 1000", "subset: size 1000 is more than the 100 items of the dataset"),
        ("  every: 10", "  every: 1", "controls.every: must be 2 or more"),
        ("  min_control_accuracy: 0.7", "  min_control_accuracy: 70", "baseline.min_control_accuracy: must be 1 or less"),
        ("  aggregator: majority", "  aggregator: majorty", "baseline.aggregator: must be"),
        ("  min_votes: 3", "  min_votes: most", "baseline.min_votes: must be a whole number or must be 'majority'"),
        ("languages: [ru, en]", "languages: ru", "languages: must be a list"),
        ("  feedback: false", "  feedback: 0", "training.feedback: must be true or false"),
        ("  margin: 0.02", "  margin: .nan", "baseline.margin: must be a finite number"),
        ('  "1.9":', "  1.9:", "checklist.1.9: must be a text (put it in quotes)"),
        ("  ru: ru.md\n", "", "instruction: there is no file for the language 'ru'"),
        ("ru: ru.md", "ru: /etc/passwd", "instruction.ru: must be the name of a file in the study's folder"),
        ("dataset: bps", "#", "dataset: is missing"),
        ("seed: 7", "seed: 7\nseed: 8", "seed: occurs twice in one mapping; keep one of the two"),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_its_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert TEXT.count(old) >= 1
    edited = TEXT.replace(old, new, 1)
    _, faults, _ = read_plan_text(written(tmp_path, edited))
    assert len(faults) == 1, faults
    (fault,) = faults
    assert str(fault).startswith(f"study.yaml, row {fault.place.row}, {message}")
    if (
        new.strip("# \n")
        and "missing" not in message
        and "no file" not in message
        and "size 1000" not in message
    ):
        key = new.strip().splitlines()[-1].split(":")[0].strip(' "')
        assert key in edited.splitlines()[fault.place.row - 1]


def test_all_faults_are_named_in_one_pass_in_the_order_of_the_file(tmp_path: Path) -> None:
    edited = (
        TEXT.replace("seed: 7", "sed: 7")
        .replace("  margin: 0.02", "  margn: 0.02")
        .replace("study: ", "stdy: ", 1)
    )
    _, faults, _ = read_plan_text(written(tmp_path, edited))
    assert [fault.place.field for fault in faults if fault.message.startswith("is not a key")] == [
        "stdy",
        "sed",
        "baseline.margn",
    ]
    with pytest.raises(
        InputError, match=r"study\.yaml, row \d+, .*more; 'merilo study validate' names all of them"
    ):
        read_plan(tmp_path)


@every(
    "text, message",
    [
        ("study: [", "is not YAML"),
        ("a: &x 1\nb: *x\n", "aliases"),
        ("study: !!python/object:os.system x", "is not YAML"),
        ("", "is not a plan of a study"),
        ("- list", "is not a plan of a study"),
        ("study: a\nseed: \x00", r"study\.yaml, row 2: is not YAML \(unacceptable character #x0000"),
    ],
)
def test_what_is_no_plan_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_plan(written(tmp_path, text))


def test_a_folder_without_a_plan_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is not a folder of a study: study\.yaml is missing"):
        read_plan(tmp_path)
    with pytest.raises(InputError, match="there is no such folder of a study"):
        read_plan(tmp_path / "nothing")


def test_the_keys_of_optional_sections_are_known() -> None:
    assert keys_at(("controls",)) == ["every"]
    assert keys_at(("restrictions", 0)) == ["ru", "en"]
    assert "overlap" in keys_at(("arms", "any name"))


def test_the_docs_name_every_key_of_the_plan() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "studies.md").read_text(encoding="utf-8")
    section = page.partition("## study.yaml")[2].partition("## ")[0]
    sections = [(name,) for name in keys_at(()) if name not in {"baseline", "arms", "restrictions"}]
    arm = ("arms", "people")
    for path in [(), *sections, arm, (*arm, "pay"), ("restrictions", 0)]:
        for key in keys_at(path):
            assert f"`{key}`" in section, (path, key)

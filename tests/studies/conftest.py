import json
from collections.abc import Callable
from pathlib import Path

import pytest

from merilo.datasets.generators import generate_splits
from merilo.items import write_splits
from merilo.studies.creation import CreatedStudy, create_studies


@pytest.fixture
def lcs_file(tmp_path: Path) -> Path:
    """60 items of LCS with 24 shots."""
    path = tmp_path / "lcs.json"
    write_splits(path, generate_splits("lcs", 60, seed=1, shots=24))
    return path


@pytest.fixture
def create(tmp_path: Path) -> Callable[..., CreatedStudy]:
    def made(path: Path, **wishes: object) -> CreatedStudy:
        return create_studies(path, tmp_path / "study", **wishes, force=True)[""]  # type: ignore[arg-type]

    return made


@pytest.fixture
def school(tmp_path: Path) -> Path:
    """A dataset's folder with a declaration, metadata and a card, of 12 questions in 3 subjects and 9 shots."""
    folder = tmp_path / "school"
    folder.mkdir()
    declaration = (
        "name: school\ntitle: School\nfields: [question]\nanswer: {kind: choice, labels: [A, B]}\nmetrics: [acc]\n"
        "extra: acc.{subject}\nprompts: ['{question} A or B?']\n"
    )
    (folder / "dataset.yaml").write_text(declaration, encoding="utf-8")
    subjects = ("physics", "history", "law")

    def item(number: int, text: str) -> dict[str, object]:
        return {
            "instruction": 0,
            "inputs": {"question": f"{text} {number}?"},
            "outputs": "AB"[number % 2],
            "meta": {"id": number, "subject": subjects[number % 3]},
        }

    test = [item(number, "Test question") for number in range(1, 13)]
    shots = [item(number, "Solved question") for number in range(13, 22)]
    (folder / "test.json").write_text(json.dumps({"data": test}), encoding="utf-8")
    (folder / "shots.json").write_text(json.dumps({"data": shots}), encoding="utf-8")
    card = {"Мотивация": "-", "Описание задачи": "Ответьте на школьный вопрос."}
    (folder / "raw_readme_ru.json").write_text(json.dumps(card, ensure_ascii=False), encoding="utf-8")
    meta = {"dataset_name": "School", "skills": ["Reasoning", "Expert domain knowledge"]}
    (folder / "raw_dataset_meta.json").write_text(json.dumps(meta), encoding="utf-8")
    return folder

"""The server of simulated people ends with its work and on Ctrl-C."""

import socket
from pathlib import Path

import pytest
from study_people import bundled_study

from merilo.errors import InputError
from merilo.site.simulated_people import SimulatedCrowd, collect_from_simulated_people
from merilo.studies.freezing import freeze_plan
from merilo.studies.study_folder import StudyFolder


@pytest.fixture
def study(tmp_path: Path) -> StudyFolder:
    folder = bundled_study(tmp_path / "study")
    weights = "".join(f"{one.item.id},all,1\n" for one in folder.items())
    (folder.path / "weights.csv").write_text(f"id,stratum,weight\n{weights}", encoding="utf-8")
    freeze_plan(folder, day="2026-01-12", force=True)
    return folder


def answers(port: int) -> bool:
    with socket.socket() as visitor:
        return visitor.connect_ex(("127.0.0.1", port)) == 0


def test_the_people_answer_everything_and_the_server_ends(study: StudyFolder) -> None:
    made = collect_from_simulated_people(study.path, seed=1)
    assert made.people["done"] >= study.plan.arms["people"].overlap
    assert made.answers > len(study.items()) * study.plan.arms["people"].overlap
    assert not answers(int(made.address.rpartition(":")[2]))


def test_the_server_ends_when_the_simulation_is_interrupted(
    study: StudyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[int] = []

    def interrupted(crowd: SimulatedCrowd) -> None:
        served.append(crowd._connection.port)
        assert answers(served[0])
        raise KeyboardInterrupt

    monkeypatch.setattr(SimulatedCrowd, "answer_everything", interrupted)
    with pytest.raises(KeyboardInterrupt):
        collect_from_simulated_people(study.path, seed=1)
    assert not answers(served[0])


def test_a_study_that_is_not_frozen_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not frozen"):
        collect_from_simulated_people(bundled_study(tmp_path / "study").path, seed=1)

"""The server of simulated people is a real process that ends with its work, on Ctrl-C, and with the process that started it."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from ended_process import ended_process
from study_people import bundled_study

from merilo.api.simulated_study import collect_from_simulated_people
from merilo.errors import InputError
from merilo.site.simulated_people import SimulatedCrowd
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


def test_the_server_ends_when_its_parent_is_gone(study: StudyFolder) -> None:
    command = [sys.executable, "-m", "merilo.site.simulated_server", str(study.path), "1"]
    with ended_process(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        port = int(process.stdout.readline())
        assert answers(port)
        process.stdin.close()  # as when the parent is killed
        assert process.wait(60) == 0
    assert not answers(port)


def test_a_study_that_is_not_frozen_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not frozen"):
        collect_from_simulated_people(bundled_study(tmp_path / "study").path, seed=1)

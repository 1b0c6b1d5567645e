"""Files and folders that appear whole or not at all."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from merilo import atomic_write
from merilo.errors import OutputError


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "new"

    def fail_halfway() -> None:
        with atomic_write.new_folder(target) as hidden:
            (hidden / "half").write_text("x", encoding="utf-8")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_halfway()
    assert list(tmp_path.iterdir()) == []
    with atomic_write.new_folder(target) as hidden:
        (hidden / "whole").write_text("x", encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["new"]
    with pytest.raises(OutputError, match="force=True"), atomic_write.new_folder(target):
        pass
    with atomic_write.new_folder(target, force=True) as hidden:
        (hidden / "other").write_text("y", encoding="utf-8")
    assert [path.name for path in target.iterdir()] == ["other"]


def test_an_old_folder_comes_back_when_the_work_is_stopped_on_the_last_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out"
    target.mkdir()
    (target / "old").write_text("x", encoding="utf-8")
    rename = Path.rename

    def stopped(self: Path, other: Path) -> Path:
        if other == target and not (self / "old").exists():
            raise KeyboardInterrupt
        return rename(self, other)

    monkeypatch.setattr(Path, "rename", stopped)
    with pytest.raises(KeyboardInterrupt), atomic_write.new_folder(target, force=True):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert [path.name for path in target.iterdir()] == ["old"]


def test_a_link_in_the_place_of_a_folder_is_replaced_and_what_it_led_to_stays(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "precious").write_text("mine", encoding="utf-8")
    (tmp_path / "out").symlink_to(tmp_path / "real")
    with atomic_write.new_folder(tmp_path / "out", force=True) as hidden:
        (hidden / "new").write_text("x", encoding="utf-8")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["new"]
    assert (tmp_path / "real" / "precious").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "real"]


def test_what_is_no_file_is_written_to_and_stays_what_it_is(tmp_path: Path) -> None:
    """A superuser who writes to /dev/null must find a device there afterwards."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    atomic_write.write_text(pipe, "text")
    assert os.read(reader, 100) == b"text"
    os.close(reader)
    assert pipe.is_fifo()


def test_a_link_to_a_file_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    atomic_write.write_text(tmp_path / "link", "text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text(encoding="utf-8") == "text"


def test_files_have_the_rights_that_the_user_gives_to_new_files(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        atomic_write.write_text(tmp_path / "file", "x")
        with atomic_write.new_folder(tmp_path / "folder"):
            pass
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "folder").stat().st_mode & 0o777 == 0o700


def test_a_file_is_replaced_in_one_step(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "result.json"
    atomic_write.write_text(path, "one")
    atomic_write.write_text(path, "two")
    assert path.read_text(encoding="utf-8") == "two"
    assert [one.name for one in path.parent.iterdir()] == ["result.json"]


def test_a_killed_process_leaves_the_old_folder(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir()
    (target / "old").write_text("x", encoding="utf-8")
    code = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom merilo.atomic_write import new_folder\n"
        "with new_folder(Path(sys.argv[1]), force=True) as hidden:\n"
        "    (hidden / 'half').write_text('x')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(target)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert [path.name for path in target.iterdir()] == ["old"]

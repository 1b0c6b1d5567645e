"""A wheel that is built, installed in an empty environment and run does the whole job."""

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.thorough
@pytest.mark.timeout(300)
@pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="a wheel is built from a clone")
def test_a_wheel_in_an_empty_environment_runs_the_demo(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", tmp_path]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    venv.create(tmp_path / "empty", with_pip=False)
    python = tmp_path / "empty" / "bin" / "python"
    own = next((tmp_path / "empty" / "lib").glob("python*")) / "site-packages"
    # With --prefix instead of --python, pip would uninstall this environment's Merilo and name its interpreter.
    install = ["--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True, capture_output=True)
    # The dependencies are those of this environment; its own Merilo comes after the wheel's.
    (own / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    program = tmp_path / "empty" / "bin" / "merilo"
    where = [python, "-c", "import merilo; print(merilo.__file__)"]
    found = subprocess.run(where, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert Path(found.strip()).is_relative_to(own)
    done = subprocess.run(
        [program, "demo", "--out", "demo"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "demo" / "everyday" / "hb" / "report.html").is_file()

"""What tests share: the real pools, where they are, and the same examples in every run.

Numerical libraries use one thread a process: the matrices of the tests are small, and tests run in several processes.

Hypothesis draws the same examples each time, so that a run says something about the code and nothing about luck.
`MERILO_EXAMPLES=50` draws more of them. `MERILO_EXPLORE=1` draws new ones, and many: that is how new faults are looked for.
"""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tiny_models import save_tiny_models

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before NumPy or PyTorch is imported

EXPLORING = "MERILO_EXPLORE" in os.environ

# A busy machine must not turn a true property into a failure.
settings.register_profile(
    "merilo",
    derandomize=not EXPLORING,
    max_examples=500 if EXPLORING else int(os.environ.get("MERILO_EXAMPLES", "15")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("merilo")

ROOT = Path(__file__).resolve().parent.parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests that need PyTorch first: of several processes only one then takes seconds to import it. Then come the
    slow ones: no process is left with one of them when the others have finished."""
    items.sort(
        key=lambda item: (item.get_closest_marker("torch") is None, item.get_closest_marker("slow") is None)
    )


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip tests that need PyTorch where it is not installed."""
    if item.get_closest_marker("torch") and find_spec("torch") is None:
        pytest.skip("PyTorch is not installed (the extra 'hf')")


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of random classifiers, as `save_pretrained` leaves them."""
    return save_tiny_models(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="session")
def pools() -> Path:
    """The folder of real annotation pools; tests that need it are skipped where it is missing."""
    folder = Path(os.environ.get("MERILO_POOLS") or ROOT.parent / "shared" / "data" / "pools")
    if not folder.is_dir():
        pytest.skip(f"the real annotation pools are not here ({folder}); name their folder in MERILO_POOLS")
    return folder


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep lm-eval, datasets and Inspect from asking the network, and their caches in the test's folder."""
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("INSPECT_LOG_DIR", str(tmp_path / "inspect"))
    monkeypatch.setenv("INSPECT_DISPLAY", "none")

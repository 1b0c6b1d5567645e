"""Merilo: human baselines for benchmarks.

Ask people and models the same questions, score both with the same code, and publish the estimate with its uncertainty.
The public functions and classes are imported on first use, so `import merilo` itself is fast.
"""

from merilo.version import __version__

# Not typing.TYPE_CHECKING: importing typing would take longer than everything else here.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from merilo.baselines.published_folder import load as load
    from merilo.baselines.published_folder import verify as verify
    from merilo.datasets import dataset as dataset
    from merilo.errors import BackendError as BackendError
    from merilo.errors import DataError as DataError
    from merilo.errors import InputError as InputError
    from merilo.errors import MeriloError as MeriloError
    from merilo.errors import MissingPartError as MissingPartError
    from merilo.errors import OutputError as OutputError
    from merilo.errors import UsageError as UsageError
    from merilo.people.agreement import agreement as agreement
    from merilo.people.decision import aggregate as aggregate
    from merilo.people.reading import read_responses as read_responses
    from merilo.reports.baseline import baseline as baseline
    from merilo.reports.comparison import compare as compare
    from merilo.reports.comparison_page import leaderboard as leaderboard
    from merilo.reports.folder import report as report
    from merilo.runs.model_run import run as run
    from merilo.runs.program_scores import score_programs as score_programs
    from merilo.runs.scores import score as score
    from merilo.runs.scores import score_run as score_run
    from merilo.settings import RunSettings as RunSettings
    from merilo.settings import Settings as Settings
    from merilo.statistics.planning import power as power

#: Module -> its public names.
_HOMES = {
    "merilo.people.agreement": ("agreement",),
    "merilo.people.decision": ("aggregate",),
    "merilo.reports.baseline": ("baseline",),
    "merilo.reports.comparison": ("compare",),
    "merilo.runs.model_run": ("run",),
    "merilo.reports.comparison_page": ("leaderboard",),
    "merilo.runs.program_scores": ("score_programs",),
    "merilo.people.reading": ("read_responses",),
    "merilo.runs.scores": ("score", "score_run"),
    "merilo.baselines.published_folder": ("load", "verify"),
    "merilo.reports.folder": ("report",),
    "merilo.datasets": ("dataset",),
    "merilo.errors": (
        "BackendError",
        "DataError",
        "InputError",
        "MeriloError",
        "MissingPartError",
        "OutputError",
        "UsageError",
    ),
    "merilo.settings": ("RunSettings", "Settings"),
    "merilo.statistics.planning": ("power",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *_HOME_OF]  # noqa: PLE0604 - the names are strings


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'merilo' has no attribute '{name}'")
    from importlib import import_module  # noqa: PLC0415 - loaded only if the library is used

    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})

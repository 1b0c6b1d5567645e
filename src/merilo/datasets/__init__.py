"""Datasets: the catalogue, prompts, generators and solvers."""

from __future__ import annotations

from pathlib import Path

from merilo.datasets.declaration import CATALOGUE, Dataset, HumanFigure, Shots
from merilo.errors import UsageError
from merilo.metrics.answers import Answer

__all__ = ["CATALOGUE", "Answer", "Dataset", "HumanFigure", "Shots", "dataset", "names"]


def names() -> tuple[str, ...]:
    """Return the names of the built-in datasets in alphabetical order."""
    return tuple(CATALOGUE)


def dataset(name: str) -> Dataset:
    """Find a dataset's declaration.

    Args:
        name: a name of the catalogue in any letter case; or the path of a custom declaration (`*.yaml`), or of the
            folder that contains it as `dataset.yaml`; or a folder with the benchmark's metadata.

    Raises:
        UsageError: there is no such dataset; the message suggests similar names.
        InputError: the file cannot be read as a declaration.

    Example:
        >>> dataset("PARus").metrics
        ('acc',)
    """
    if (declared := CATALOGUE.get(name.lower())) is not None:
        return declared
    path = Path(name)
    if path.suffix in {".yaml", ".yml"} or (path / "dataset.yaml").is_file():
        from merilo.datasets.custom import read_declaration  # noqa: PLC0415 - imports Pydantic

        return read_declaration(path / "dataset.yaml" if path.is_dir() else path)
    from merilo.datasets.folders import folder_dataset, is_folder_dataset  # noqa: PLC0415 - reads items

    if is_folder_dataset(path):
        return folder_dataset(path)[0]
    raise UsageError(f"there is no dataset '{name}': {_hint(path)}")


def _hint(path: Path) -> str:
    """Say what the user may have meant by the name of a dataset that does not exist."""
    if path.is_file():
        return f"it is a file; if it holds the items, 'merilo datasets new {path}' writes their declaration"
    if beside := next(
        (file for suffix in (".yaml", ".yml") if (file := Path(f"{path}{suffix}")).is_file()), None
    ):
        return f"did you mean {beside}?"
    from difflib import get_close_matches  # noqa: PLC0415 - needed only for a mistyped name

    near = get_close_matches(str(path).lower(), CATALOGUE, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(near)}?" if near else "'merilo datasets list' lists them all"

"""Where the published human figures come from, one maker of figures a kind of source."""

from __future__ import annotations

from merilo.datasets.declaration import HumanFigure


def measured(metric: str, value: float, n: int) -> HumanFigure:
    """A figure that the benchmark measured with annotators of its own."""
    source = "MERA: crowd annotation, 5 people an item, majority of 3 votes, below 50 % on controls excluded"
    return HumanFigure(metric=metric, value=value, n=n, provenance="measured", source=source)


def super_glue(metric: str, value: float, n: int) -> HumanFigure:
    """A figure of the Russian SuperGLUE paper (arXiv:2010.15925)."""
    source = "Russian SuperGLUE paper (arXiv:2010.15925)"
    return HumanFigure(metric=metric, value=value, n=n, provenance="literature", source=source)


def tape(metric: str, value: float, n: int) -> HumanFigure:
    """A figure of the TAPE paper (arXiv:2210.12813)."""
    return HumanFigure(
        metric=metric, value=value, n=n, provenance="literature", source="TAPE paper (arXiv:2210.12813)"
    )


def mmlu_estimate() -> HumanFigure:
    """What the authors of MMLU estimate for experts; nobody was asked in Russian."""
    source = (
        "MMLU paper (arXiv:2009.03300): estimate from 95th percentiles of the underlying exams, in English"
    )
    return HumanFigure(metric="acc", value=0.898, n=None, provenance="literature", source=source)


def solvable(metric: str) -> HumanFigure:
    """1 by definition: every problem has a strict solution."""
    source = "every problem has a strict solution; no people were asked"
    return HumanFigure(metric=metric, value=1.0, n=None, provenance="by definition", source=source)

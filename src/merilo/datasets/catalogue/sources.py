"""Published human results: one function for each kind of source."""

from __future__ import annotations

from dataclasses import replace

from merilo.datasets.declaration import HumanFigure


def measured(metric: str, value: float, n: int) -> HumanFigure:
    """Return a result that the benchmark measured with its own annotators."""
    source = "MERA: crowd annotation, 5 people an item, majority of 3 votes, below 50 % on controls excluded"
    return HumanFigure(metric=metric, value=value, n=n, provenance="measured", source=source)


def measured_as_accuracy(value: float, n: int) -> HumanFigure:
    """Return a measured `em` that the benchmark publishes as "Accuracy": both are the share of exact answers."""
    result = measured("em", value, n)
    return replace(result, source=f'{result.source}; published under the name "Accuracy"')


def super_glue(metric: str, value: float, n: int) -> HumanFigure:
    """Return a result from the Russian SuperGLUE paper (arXiv:2010.15925)."""
    source = "Russian SuperGLUE paper (arXiv:2010.15925)"
    return HumanFigure(metric=metric, value=value, n=n, provenance="literature", source=source)


def tape(metric: str, value: float, n: int) -> HumanFigure:
    """Return a result from the TAPE paper (arXiv:2210.12813)."""
    return HumanFigure(
        metric=metric, value=value, n=n, provenance="literature", source="TAPE paper (arXiv:2210.12813)"
    )


def mmlu_experts() -> HumanFigure:
    """Return the experts' result on the English MMLU as estimated by its authors.

    The benchmark's table shows this result.
    """
    source = (
        "MMLU paper (arXiv:2009.03300): estimate for experts from 95th percentiles of the underlying "
        "exams, in English"
    )
    return HumanFigure(metric="acc", value=0.898, n=None, provenance="literature", source=source)


def annotated_test() -> HumanFigure:
    """Return the result of annotators on the Russian test; the card does not give the number of items."""
    source = "the dataset's card: accuracy of the annotation on the test set, in Russian"
    return HumanFigure(metric="acc", value=0.844, n=None, provenance="measured", source=source)


def mmlu_untrained() -> HumanFigure:
    """Return the MMLU paper's result for people without training, which ruMMLU's card quotes."""
    source = (
        "MMLU paper (arXiv:2009.03300): crowd workers without special training, in English; quoted in "
        "the dataset's card"
    )
    return HumanFigure(metric="acc", value=0.345, n=None, provenance="literature", source=source)


def solvable(metric: str) -> HumanFigure:
    """1 by definition: every problem has a strict solution."""
    source = "every problem has a strict solution; no people were asked"
    return HumanFigure(metric=metric, value=1.0, n=None, provenance="by definition", source=source)

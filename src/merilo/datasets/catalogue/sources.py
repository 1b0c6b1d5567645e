"""Where the published human figures come from, one maker of figures a kind of source."""

from __future__ import annotations

from dataclasses import replace

from merilo.datasets.declaration import HumanFigure


def measured(metric: str, value: float, n: int) -> HumanFigure:
    """Make a figure that the benchmark measured with its own annotators."""
    source = "MERA: crowd annotation, 5 people an item, majority of 3 votes, below 50 % on controls excluded"
    return HumanFigure(metric=metric, value=value, n=n, provenance="measured", source=source)


def measured_as_accuracy(value: float, n: int) -> HumanFigure:
    """Make a measured figure of `em` that the benchmark publishes as "Accuracy": both are the share of exact answers."""
    figure = measured("em", value, n)
    return replace(figure, source=f'{figure.source}; published under the name "Accuracy"')


def super_glue(metric: str, value: float, n: int) -> HumanFigure:
    """A figure of the Russian SuperGLUE paper (arXiv:2010.15925)."""
    source = "Russian SuperGLUE paper (arXiv:2010.15925)"
    return HumanFigure(metric=metric, value=value, n=n, provenance="literature", source=source)


def tape(metric: str, value: float, n: int) -> HumanFigure:
    """A figure of the TAPE paper (arXiv:2210.12813)."""
    return HumanFigure(
        metric=metric, value=value, n=n, provenance="literature", source="TAPE paper (arXiv:2210.12813)"
    )


def mmlu_experts() -> HumanFigure:
    """Make the figure that the authors of MMLU estimate for experts, in English: the one in the benchmark's table."""
    source = "MMLU paper (arXiv:2009.03300): estimate for experts from 95th percentiles of the underlying exams, in English"
    return HumanFigure(metric="acc", value=0.898, n=None, provenance="literature", source=source)


def annotated_test() -> HumanFigure:
    """Make the figure of the people who answered the Russian test; the card does not say how many items they answered."""
    source = "the dataset's card: accuracy of the annotation on the test set, in Russian"
    return HumanFigure(metric="acc", value=0.844, n=None, provenance="measured", source=source)


def mmlu_untrained() -> HumanFigure:
    """Make the figure of the MMLU paper for people without training, which ruMMLU's card quotes."""
    source = "MMLU paper (arXiv:2009.03300): crowd workers without special training, in English; quoted in the dataset's card"
    return HumanFigure(metric="acc", value=0.345, n=None, provenance="literature", source=source)


def solvable(metric: str) -> HumanFigure:
    """1 by definition: every problem has a strict solution."""
    source = "every problem has a strict solution; no people were asked"
    return HumanFigure(metric=metric, value=1.0, n=None, provenance="by definition", source=source)

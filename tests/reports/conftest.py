"""What the tests of reports share."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="package", autouse=True)
def svg_only() -> Iterator[None]:
    """Write plots as SVG only: PDF and PNG take most of the time of a report, and one test draws them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("merilo.reports.hb.plots.has_matplotlib", lambda: False)
        yield

"""What axe-core finds on a page, against WCAG 2.2 AA and its own advice."""

import shutil
from pathlib import Path
from typing import Any

import pytest

AXE = Path(__file__).resolve().parent.parent / "node_modules" / "axe-core" / "axe.min.js"

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

#: Widths and heights of a phone and of a desktop, in CSS pixels.
SIZES = {"phone": (360, 740), "desktop": (1280, 900)}


def axe_source() -> str:
    """The text of axe-core; the test is skipped where it is not installed."""
    if not AXE.is_file():
        how = "npm ci --prefix tests" if shutil.which("npm") else "npm, then npm ci --prefix tests"
        pytest.skip(f"axe-core is not installed ({how})")
    return AXE.read_text(encoding="utf-8")


class AccessibilityCheck:
    """Runs axe-core in pages and collects what it finds.

    Usage: `check(page, "consent")` at every state of a page, and at the end `check.passed(20)`.
    """

    def __init__(self) -> None:
        self._source = axe_source()
        self.states: list[str] = []
        self.found: list[str] = []

    def __call__(
        self, page: Any, state: str, *, looks: tuple[str, ...] = ("phone light", "desktop dark")
    ) -> None:
        """Check a page as it is now, on each size of screen with each colour scheme of `looks`."""
        self.states.append(state)
        before = page.viewport_size
        for look in looks:
            size, scheme = look.split()
            width, height = SIZES[size]
            page.set_viewport_size({"width": width, "height": height})
            page.emulate_media(color_scheme=scheme)
            page.evaluate(self._source)  # not a script of the page: its policy stays in force
            result = page.evaluate(
                "tags => axe.run(document, {runOnly: tags, resultTypes: ['violations']})", TAGS
            )
            self.found += [_told(f"{state} ({look})", one) for one in result["violations"]]
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                self.found.append(f"{state} ({look}): the page scrolls sideways")
        page.set_viewport_size(before)
        page.emulate_media(color_scheme="light")

    def passed(self, at_least: int) -> None:
        """Fail with everything that was found; also if fewer states were checked than the test promises."""
        assert not self.found, "\n".join(self.found)
        assert len(self.states) >= at_least, self.states


def _told(state: str, violation: dict[str, Any]) -> str:
    nodes = violation["nodes"]
    first = nodes[0]
    return f"{state}: {violation['id']}, {violation['help']}, {len(nodes)} times, first {first['html'][:160]}: {first.get('failureSummary', '')[:300]}"

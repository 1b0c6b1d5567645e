"""A real browser for pages: Debian's Chromium, driven by Playwright."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

#: Finds the charts that do not lie inside the width of the window, and the tables that have to be scrolled.
OUTSIDE = """[...document.querySelectorAll("svg, .wide:has(.rows)")].filter(part => part.checkVisibility() && (
    part.getBoundingClientRect().right > innerWidth || part.scrollWidth > part.clientWidth + 1)).map(part => part.outerHTML)"""


@contextmanager
def opened_browser() -> Iterator:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium is installed (Debian's package: chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()

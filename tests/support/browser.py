"""Chromium for tests of the console, and what every page in it must keep to."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = "UNDERSTUDY_TEST_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
AXE = Path(__file__).parents[1] / "console" / "vendor" / "axe.min.js"
# A page is ready within this on a machine that others keep busy.
PATIENCE_MS = 15_000
DESK = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 800}
# axe's rules for WCAG 2.2 A and AA, and its own best practices.
AXE_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# Its rules that depend on colours.
COLOUR_RULES = ["color-contrast", "link-in-text-block"]
# Only violations are told: what passes is most of a page.
AXE_RUN = """async ([type, values]) => (await axe.run(document, {
    runOnly: {type, values}, resultTypes: ["violations"], selectors: false,
})).violations"""


def chromium_path() -> str | None:
    """The browser to test with: the one that is named, or the first on PATH."""
    named = os.environ.get(CHROMIUM)
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser; the test is skipped where there is none."""
    path = chromium_path()
    if path is None:
        pytest.skip(f"NO BROWSER: install Chromium or name one in {CHROMIUM}")
    with sync_playwright() as playwright:
        # Containers have neither user namespaces for the sandbox nor much shared memory.
        options = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=path, args=options)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def tab_of(browser: Browser, url: str, **options: Any) -> Iterator[Page]:
    """A tab of a visitor of their own; errors in its console or scripts fail the test."""
    context = browser.new_context(base_url=url, **{"viewport": DESK, **options})
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    found: list[str] = []
    # A refused form is a status of 4xx, which Chromium reports, too; the page says it better.
    page.on(
        "console",
        lambda message: (
            found.append(message.text)
            if message.type == "error" and "Failed to load resource" not in message.text
            else None
        ),
    )
    page.on("pageerror", lambda error: found.append(str(error)))
    try:
        yield page
    finally:
        context.close()
    assert not found, f"errors in the browser's console: {found}"


def assert_accessible(page: Page) -> None:
    """Have axe find nothing on a page, in the light and in the dark theme.

    The themes differ in colours alone, so what does not look at them is looked at once.
    """
    # Not by a script tag, which the content security policy would refuse.
    page.evaluate(AXE.read_text("utf-8"))
    looks: tuple[tuple[Literal["light", "dark"], str, list[str]], ...] = (
        ("light", "tag", AXE_TAGS),
        ("dark", "rule", COLOUR_RULES),
    )
    for scheme, kind, names in looks:
        page.emulate_media(color_scheme=scheme)
        found = page.evaluate(AXE_RUN, [kind, names])
        assert not found, [
            (scheme, page.url, each["id"], [node["html"] for node in each["nodes"]][:3])
            for each in found
        ]


def assert_fits(page: Page) -> None:
    """Have nothing on a page be wider than the window."""
    wider = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert wider <= 0, f"{page.url} is {wider} pixels wider than the window"

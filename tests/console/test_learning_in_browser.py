"""From a sentence in one conversation to the answer of another, as a person in a browser does it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import tab_of
from tests.support.daemon import DaemonProcess
from understudy.learnings.extraction import INSTRUCTIONS
from understudy.testing.answers import SeenRequest
from understudy.testing.fake_model import FakeModel

SAID = "I prefer answers with a table."
QUESTION = "How tall are the three highest towers of the world?"
# Counts what a person clicks, over all pages of the tab.
COUNT_CLICKS = """addEventListener("click", (event) => {
    if (!event.isTrusted || !event.detail) return;
    localStorage.clicks = Number(localStorage.clicks ?? 0) + 1;
}, true);"""


def reply(seen: SeenRequest) -> str:
    """A model that finds the preference in a run, and follows it where its prompt has it."""
    if seen.system == INSTRUCTIONS:
        found = {"kind": "preference", "content": SAID, "confidence": 90}
        return json.dumps({"candidate_1": found} if SAID in seen.last_user else {})
    return f"Since {SAID.lower()} Here it is." if SAID in seen.system else "About 700 m."


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[DaemonProcess]:
    """A daemon with its defaults and a model."""
    with FakeModel(rule=reply) as fake:
        fake.script_captures = True
        route = f'provider = "openai"\nmodel = "model-a"\nbase_url = "{fake.url}"\n'
        config = f'default_route = "a"\n[routes.a]\n{route}'
        with DaemonProcess(tmp_path / "home", config=config, fresh=True) as daemon:
            yield daemon


def begin_session(tab: Page) -> None:
    tab.get_by_role("navigation").get_by_role("link", name="Sessions").click()
    tab.get_by_role("button", name="New session").click()
    expect(tab).to_have_url(re.compile("/sessions/ses_"))


def say(tab: Page, text: str) -> None:
    composer = tab.get_by_label("Say something to this session")
    composer.fill(text)
    composer.press("Enter")


def test_a_preference_reaches_the_next_session_with_two_sentences_and_six_clicks(
    browser: Browser, fresh: DaemonProcess
) -> None:
    with tab_of(browser, fresh.url) as tab:
        tab.add_init_script(COUNT_CLICKS)
        tab.goto("/")
        begin_session(tab)
        say(tab, SAID)
        tab.get_by_role("button", name="Publish for the workspace").click()
        expect(tab.locator(".learned .chip.good")).to_have_text("published")

        begin_session(tab)
        say(tab, QUESTION)
        expect(tab.locator(".said.agent .prose").last).to_contain_text("answers with a table")
        expect(tab.locator(".remembered")).to_contain_text(SAID)
        clicks = int(tab.evaluate("localStorage.clicks"))

    assert 3 <= clicks <= 6
    [learning] = fresh.get("/v1/learnings")["items"]
    assert learning["scope"] == {"kind": "workspace", "id": "default"}

"""Unlearning in the console: the preview, the choice between two ways, progress and receipt."""

import re

from playwright.sync_api import Page, expect
from starlette.testclient import TestClient

from tests.console.test_memory import taught
from tests.support.browser import assert_accessible
from tests.support.daemon import DaemonProcess


def test_a_learning_links_to_a_preview_with_counts_items_and_both_ways(console: TestClient) -> None:
    learning = taught(console, "The Atlas lamp is blue.")
    link = f"/unlearn?kind=learning&amp;id={learning}"
    assert link in console.get(f"/learnings/{learning}").text
    page = console.get("/unlearn", params={"kind": "learning", "id": learning}).text
    assert "candidate of the learning" in page
    assert page.count('name="mode"') == 2
    assert "Nothing was unlearned yet." in page


def test_what_there_is_not_is_said_on_the_page(console: TestClient) -> None:
    page = console.get("/unlearn", params={"kind": "run", "id": "run_nowhere"})
    assert page.status_code == 404
    assert "run_nowhere" in page.text


def test_an_erasure_is_followed_to_its_receipt(tab: Page, live: DaemonProcess) -> None:
    learning = live.post("/v1/learnings", {"kind": "fact", "content": "The Atlas key is brass."})
    tab.goto(f"/unlearn?kind=learning&id={learning['learning_id']}")
    assert_accessible(tab)
    form = tab.get_by_role("form", name="Erase")
    form.get_by_label("I know that nothing brings it back").check()
    form.get_by_role("button", name="Erase").click()
    expect(tab).to_have_url(re.compile(r"/unlearn/uln_"))
    expect(tab.get_by_role("heading", name="Receipt")).to_be_visible()
    expect(tab.get_by_text("done", exact=True)).to_be_visible()
    assert_accessible(tab)
    assert live.get("/v1/learnings")["items"] == []

"""Jump to anything, the keys of a page, and what they must not disturb."""

import pytest
from playwright.sync_api import Dialog, Page, expect
from starlette.testclient import TestClient

from tests.support.browser import assert_accessible
from tests.support.daemon import DaemonProcess
from understudy.console.site_map import GO_KEYS


def test_the_search_page_works_without_scripts(console: TestClient) -> None:
    console.post("/v1/sessions", json={"session_id": "talk-of-paint"})
    page = console.get("/search", params={"query": "paint"}).text
    assert 'href="/sessions/talk-of-paint"' in page
    assert 'href="/memory"' in console.get("/search", params={"query": "inspector"}).text
    assert "Nothing fits" in console.get("/search", params={"query": "<b>zzz"}).text


def test_each_page_has_a_key_of_its_own() -> None:
    assert len(set(GO_KEYS.values())) == len(GO_KEYS)


@pytest.fixture(scope="module")
def talk(live: DaemonProcess) -> str:
    """A session to jump to."""
    return str(live.post("/v1/sessions", {"session_id": "talk-of-paint"})["session_id"])


def test_ctrl_k_leads_to_what_is_typed(tab: Page, talk: str) -> None:
    tab.goto("/runs")
    tab.keyboard.press("Control+k")
    tab.keyboard.type("of-paint")
    expect(tab.locator("#jump-found a")).to_have_count(1)
    assert_accessible(tab)
    tab.keyboard.press("ArrowDown")
    expect(tab.locator("#jump-found a")).to_be_focused()
    tab.keyboard.press("ArrowUp")
    tab.keyboard.press("Enter")
    expect(tab).to_have_url(f"{tab.url.split('/runs')[0]}/sessions/{talk}")


def test_escape_closes_the_jump_and_the_link_is_a_plain_one(tab: Page) -> None:
    tab.goto("/runs")
    tab.keyboard.press("Control+k")
    expect(tab.locator("#jump")).to_be_visible()
    tab.keyboard.press("Escape")
    expect(tab.locator("#jump")).to_be_hidden()
    assert tab.locator("a.jump").get_attribute("href") == "/search"


def test_g_and_a_letter_go_somewhere_and_are_no_key_of_the_page(
    tab: Page, live: DaemonProcess
) -> None:
    scope = {"kind": "workspace", "id": "default"}
    body = {"scope": scope, "kind": "fact", "content": "The lamp is blue."}
    made = live.post("/v1/learning-candidates", body)["candidate_id"]
    tab.goto("/review")
    tab.evaluate("document.documentElement.dataset.isOld = 'yes'")
    tab.keyboard.press("g")
    tab.keyboard.press("r")
    # The page is loaded again: a key that is pressed meanwhile belongs to nobody.
    expect(tab.locator("html:not([data-is-old])")).to_be_visible()
    tab.wait_for_load_state("load")
    tab.keyboard.press("g")
    tab.keyboard.press("u")
    expect(tab).to_have_url(f"{live.url}/runs")
    assert live.get(f"/v1/learning-candidates/{made}")["state"] == "pending"


def test_the_help_names_the_keys_of_the_page(tab: Page) -> None:
    tab.goto("/memory")
    tab.keyboard.press("?")
    keys = tab.get_by_role("dialog", name="Keys")
    expect(keys.locator(".of-page")).to_contain_text("Input")
    expect(keys).to_contain_text("Memory inspector")
    assert_accessible(tab)
    tab.keyboard.press("Escape")
    expect(keys).to_be_hidden()


def test_the_help_opens_at_its_top_and_closes_with_two_keys(tab: Page) -> None:
    tab.set_viewport_size({"width": 1280, "height": 500})
    tab.goto("/overview")
    tab.keyboard.press("?")
    keys = tab.get_by_role("dialog", name="Keys")
    expect(keys.get_by_role("heading", name="Keys")).to_be_in_viewport()
    assert keys.evaluate("dialog => dialog.scrollTop") == 0
    expect(keys.get_by_role("button", name="Close")).to_be_in_viewport()
    tab.keyboard.press("Tab")
    expect(keys.get_by_role("button", name="Close")).to_be_focused()
    tab.keyboard.press("Enter")
    expect(keys).to_be_hidden()


def test_a_slash_focuses_the_search_of_a_list(tab: Page) -> None:
    tab.goto("/learnings")
    tab.keyboard.press("/")
    expect(tab.locator("main form[role=search] input").first).to_be_focused()


def test_what_was_written_is_not_left_without_a_question(tab: Page, talk: str) -> None:
    asked: list[str] = []

    def agree(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    tab.on("dialog", agree)
    tab.goto(f"/sessions/{talk}")
    tab.locator("main form[method=post] textarea").first.fill("half a thought")
    tab.goto("/runs")
    assert asked == ["beforeunload"]
    tab.goto("/overview")
    assert asked == ["beforeunload"]

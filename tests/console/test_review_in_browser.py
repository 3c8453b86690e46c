"""The review in a browser: by keys, in bulk, with two reviewers, on a phone."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import PATIENCE_MS, PHONE, assert_accessible, assert_fits, tab_of
from tests.support.daemon import DaemonProcess
from tests.support.model_scripts import ask, play
from understudy.testing.answers import call
from understudy.testing.fake_model import FakeModel

CANDIDATES = "/v1/learning-candidates"
# Signals come within a second, and pages after them, on a machine that others keep busy.
expect.set_options(timeout=PATIENCE_MS)
WORKSPACE = {"kind": "workspace", "id": "default"}


@pytest.fixture(autouse=True)
def nothing_waits(live: DaemonProcess) -> Iterator[None]:
    """Every test begins with an empty inbox."""
    yield
    for state in ("pending", "escalated"):
        live.post(f"{CANDIDATES}/bulk", {"action": "reject", "filter": {"state": state}})


def propose(live: DaemonProcess, content: str, **more: Any) -> str:
    body = {"scope": WORKSPACE, "kind": "fact", "content": content, **more}
    return str(live.post(CANDIDATES, body)["candidate_id"])


def candidate(live: DaemonProcess, candidate_id: str) -> dict[str, Any]:
    found: dict[str, Any] = live.get(f"{CANDIDATES}/{candidate_id}")
    return found


def current(tab: Page) -> str:
    return tab.locator("#queue [aria-current] .line").inner_text()


def test_candidates_are_decided_by_keys(live: DaemonProcess, tab: Page) -> None:
    names = ("Anna", "Berta", "Carla", "Dora", "Emma")
    first, second, third, fourth, fifth = (propose(live, f"{it} likes tea") for it in names)
    tab.goto("/review")
    expect(tab.locator("#place")).to_have_text("1 of 5")

    tab.keyboard.press("j")
    expect(tab).to_have_url(f"{live.url}/review/{second}")
    tab.keyboard.press("k")
    expect(tab).to_have_url(f"{live.url}/review/{first}")
    tab.keyboard.press("t")
    tab.keyboard.press("a")
    expect(tab).to_have_url(f"{live.url}/review/{second}?done={first}")
    expect(tab.locator("#tally")).to_have_text("1 published")
    tab.keyboard.press("p")
    expect(tab).to_have_url(f"{live.url}/review/{third}?done={second}")
    tab.keyboard.press("r")
    expect(tab.locator(".because input")).to_be_focused()
    tab.keyboard.type("not worth it")
    tab.keyboard.press("Enter")
    expect(tab).to_have_url(f"{live.url}/review/{fourth}?done={third}")
    expect(tab.locator("#tally")).to_have_text("2 published · 1 rejected")
    tab.keyboard.press("e")
    tab.keyboard.press("Control+A")
    tab.keyboard.type("Dora likes coffee")
    tab.keyboard.press("Control+Enter")
    expect(tab).to_have_url(f"{live.url}/review/{fifth}?done={fourth}")
    tab.keyboard.press("w")
    expect(tab.get_by_text("Nothing waits for you")).to_be_visible()

    learned = [live.get(f"/v1/learnings/{candidate(live, it)['published_learning_id']}")
               for it in (first, second, fourth)]  # fmt: skip
    assert [(it["content"], it["publish_tier"], it["applies"]) for it in learned] == [
        ("Anna likes tea", "active", "always"),
        ("Berta likes tea", "provisional", "when_relevant"),
        ("Dora likes coffee", "active", "when_relevant"),
    ]
    assert candidate(live, third)["decision_reason"] == "not worth it"
    assert candidate(live, fifth)["snoozed_until_ms"] > 0


def test_a_decision_is_undone_by_a_key(live: DaemonProcess, tab: Page) -> None:
    first, _ = propose(live, "Anna likes tea with milk"), propose(live, "Berta likes milk")
    tab.goto("/review")
    tab.keyboard.press("a")
    expect(tab.locator(".notice")).to_contain_text("Anna likes tea with milk")

    tab.keyboard.press("z")

    expect(tab).to_have_url(f"{live.url}/review/{first}?done={first}")
    expect(tab.locator("#place")).to_have_text("1 of 2")
    expect(tab.locator("#tally")).to_have_text("")
    # The list marks what is shown, also after the signal that follows the undo.
    expect(tab.locator("#waiting")).to_contain_text("2")
    expect(tab.locator("#queue [aria-current] .line")).to_have_text("Anna likes tea with milk")
    tab.keyboard.press("?")
    keys = tab.locator("#keys .of-page")
    for key, meaning in (
        ("k", "the one before"),
        ("x", "Select"),
        ("r", "Reject"),
        ("t", "always"),
    ):
        expect(keys.locator("div").filter(has=tab.get_by_text(key, exact=True))).to_contain_text(meaning)  # fmt: skip
    assert candidate(live, first)["state"] == "pending"


def test_a_conflict_is_shown_side_by_side_and_superseded_by_a_key(
    live: DaemonProcess, tab: Page
) -> None:
    old = live.post("/v1/learnings", {"content": "The lift stops at 3 floors", "kind": "fact"})
    new = propose(live, "The lift stops at 4 floors")
    tab.goto("/review")
    expect(tab.locator(".diff del")).to_have_text("3")
    expect(tab.locator(".diff ins")).to_have_text("4")

    tab.keyboard.press("a")
    expect(tab.locator("#refusal [role=alert]")).to_be_visible()
    tab.keyboard.press("s")
    tab.keyboard.press("a")

    expect(tab.get_by_text("Nothing waits for you")).to_be_visible()
    assert live.get(f"/v1/learnings/{old['learning_id']}")["status"] == "superseded"
    assert candidate(live, new)["state"] == "published"


def test_both_are_kept_by_a_key_and_the_button_says_for_whom(
    live: DaemonProcess, tab: Page
) -> None:
    session = live.post("/v1/sessions", json={})["session_id"]
    here = {"kind": "session", "id": session}
    live.post("/v1/learnings", {"content": "The door is green", "kind": "fact"})
    body = {"scope": here, "kind": "fact", "content": "The door is red"}
    new = live.post("/v1/learning-candidates", body)["candidate_id"]
    tab.goto(f"/review/{new}")
    button = tab.locator("[data-publish-label]")

    expect(button).to_have_text("Publish for this session")
    tab.keyboard.press("2")
    expect(button).to_have_text("Publish for the workspace")
    tab.keyboard.press("1")
    tab.keyboard.press("s")
    tab.keyboard.press("b")

    expect(tab.locator(".notice")).to_contain_text("The door is red")
    kept = live.get("/v1/learnings?query=the+door+is")["items"]
    assert {(it["status"], it["scope"]["kind"]) for it in kept} == {
        ("active", "workspace"),
        ("active", "session"),
    }


def test_neighbours_are_listed_with_how_a_model_says_that_they_relate(
    browser: Browser, live: DaemonProcess, fake: FakeModel
) -> None:
    near = [
        live.post("/v1/learnings", {"content": it, "kind": "fact"})["learning_id"]
        for it in ("The harbour office sits in Porto", "Porto is home to the harbour office")
    ]
    said = {"relations": [{"id": it, "is": "contradicts"} for it in near]}
    fake.script_captures = True
    fake.queue(json.dumps(said))
    candidate_id = propose(live, "By now the harbour office is one that Lisbon has")
    fake.script_captures = False

    words = {"en": "contradicts it", "vi": "mâu thuẫn với nó", "zh": "与它矛盾"}
    for language, relation in words.items():
        with tab_of(browser, live.url, locale=language) as tab:
            tab.goto(f"/review/{candidate_id}")
            expect(tab.locator(".rival")).to_have_count(2)
            expect(tab.locator(".near .chip")).to_have_text(relation)
            if language == "en":
                assert_accessible(tab)
            if language == "zh":
                tab.keyboard.press("b")
                expect(tab.locator(".notice")).to_contain_text("Lisbon")

    assert {live.get(f"/v1/learnings/{it}")["status"] for it in near} == {"active"}


def test_many_are_selected_previewed_and_decided(live: DaemonProcess, tab: Page) -> None:
    live.post("/v1/learnings", {"content": "The canteen has 11 tables", "kind": "fact"})
    ids = [propose(live, f"Room {number} is free") for number in (1, 2)]
    blocked = propose(live, "The canteen has 12 tables")
    tab.goto("/review")

    for _ in range(2):
        tab.keyboard.press("x")
        tab.keyboard.press("j")
    expect(tab).to_have_url(f"{live.url}/review/{blocked}")
    tab.keyboard.press("x")
    expect(tab.locator("#selected")).to_have_text("3")
    tab.locator(".bulk").get_by_role("button", name="Publish").click()

    expect(tab.get_by_text("2 will be done, 1 blocked")).to_be_visible()
    assert {candidate(live, it)["state"] for it in ids} == {"pending"}
    assert_accessible(tab)
    tab.keyboard.press("Control+Enter")
    expect(tab.locator(".notice")).to_have_text("Decided: 2. Refused: 0.")
    assert {candidate(live, it)["state"] for it in ids} == {"published"}
    assert candidate(live, blocked)["state"] == "pending"


def test_a_second_tab_follows_and_keeps_what_is_typed_and_ticked(
    browser: Browser, live: DaemonProcess, tab: Page
) -> None:
    first, second = propose(live, "Gate A is open"), propose(live, "Gate B is open")
    tab.goto("/review")
    with tab_of(browser, live.url) as other:
        other.goto(f"/review/{second}")
        other.keyboard.press("x")
        other.keyboard.press("e")
        other.keyboard.type("Mind: ")

        tab.keyboard.press("a")

        expect(other.locator("#queue li")).to_have_count(1)
        expect(other.locator("#place")).to_have_text("1 of 1")
        content = other.locator(f"#content-{second}")
        expect(content).to_be_focused()
        expect(content).to_have_value("Mind: Gate B is open")
        expect(other.locator("#queue input")).to_be_checked()
    assert candidate(live, first)["state"] == "published"


def test_the_slower_of_two_reviewers_is_told_who_was_quicker_and_keeps_the_edits(
    live: DaemonProcess, tab: Page
) -> None:
    first, second = propose(live, "Gate C is open"), propose(live, "Gate D is open")
    tab.goto("/review")
    tab.keyboard.press("e")
    tab.keyboard.type("Perhaps: ")

    live.post(f"{CANDIDATES}/{first}/reject", {"version": 1})

    expect(tab.locator(".standing")).to_contain_text("local decided first")
    tab.keyboard.press("Control+Enter")
    expect(tab.locator("#refusal")).to_contain_text("local rejected candidate")
    expect(tab.locator(f"#content-{first}")).to_have_value("Perhaps: Gate C is open")
    tab.keyboard.press("Escape")
    tab.get_by_role("link", name="Go to the next").click()
    expect(tab).to_have_url(f"{live.url}/review/{second}")


def test_an_approval_and_a_question_are_answered_on_a_phone(
    browser: Browser, live: DaemonProcess, fake: FakeModel
) -> None:
    fake.rule = play({"build": [call("shell", {"command": "make"})], "ask": [ask("Which port?")]})
    rules = {"rules": [{"tool": "shell", "decision": "ask"}]}
    runs = {}
    for session in ("build", "ask"):
        live.post("/v1/sessions", {"session_id": session})
        live.request("PUT", f"/v1/sessions/{session}/permissions", json=rules)
        runs[session] = live.submit(session, session)
    with tab_of(browser, live.url, viewport=PHONE) as tab:
        tab.goto("/review?kind=approval")
        expect(tab.locator("#queue")).to_contain_text("make")
        assert_fits(tab)
        assert_accessible(tab)
        tab.get_by_placeholder("Reason for the model").fill("not now")
        tab.get_by_role("button", name="Deny").click()
        expect(tab.locator(".notice")).to_contain_text("Denied")
        tab.goto("/review?kind=question")
        expect(tab.get_by_role("group", name="Which port?")).to_be_visible()
        assert_fits(tab)
        assert_accessible(tab)
        tab.get_by_label("In your own words").fill("8080")
        tab.get_by_role("button", name="Answer").click()
        expect(tab.locator(".notice")).to_contain_text("Answered")
    assert live.wait_for_run(runs["build"])["status"] == "completed"
    assert live.wait_for_run(runs["ask"])["status"] == "completed"


def test_the_review_is_accessible_and_fits(
    browser: Browser, live: DaemonProcess, tab: Page
) -> None:
    propose(live, "The lift stops at floor 5")
    propose(live, "word" * 300)
    for path in ("/review", "/review?kind=candidate"):
        tab.goto(path)
        assert_accessible(tab)
    with tab_of(browser, live.url, viewport=PHONE) as phone:
        phone.goto("/review")
        phone.locator("#queue a").last.click()
        expect(phone.locator(".content")).to_have_value("word" * 300)
        assert_fits(phone)

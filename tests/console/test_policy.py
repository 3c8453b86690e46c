"""Policy and lab in the console: form and text, dry run, revisions, conflicts, pasted texts."""

import json
import re

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect
from starlette.testclient import TestClient

from tests.api.conftest import ADMIN
from tests.console.conftest import OURS, undo
from tests.console.test_pages import propose
from tests.support.browser import PHONE, assert_accessible, assert_fits, tab_of
from tests.support.daemon import DaemonProcess
from understudy.console.pages.policy import TABS

PATH = "/v1/runtime/learning-policy"
FACTS = {"action": "publish_active", "name": "facts", "kind": "fact"}
KEY = "sk-" + "proj-" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6"


def form_of(document: object, do: str, revision: int = 1) -> dict[str, str]:
    text = json.dumps(document)
    return {"text": text, "base": text, "revision": str(revision), "_do": do}


@pytest.mark.parametrize("language", ["en", "vi", "zh"])
@pytest.mark.parametrize("tab", TABS)
def test_every_tab_answers(console: TestClient, tab: str, language: str) -> None:
    page = console.get("/policy", params={"tab": tab}, headers={"Accept-Language": language})

    assert page.status_code == 200


def test_a_saved_policy_is_taken_back_by_the_button_beside_the_notice(console: TestClient) -> None:
    before = console.get(PATH).json()["policy"]
    draft = {**form_of(before, "save"), "/mode": "enabled"}
    done = console.post("/policy", data=draft, headers=OURS)
    assert console.get(PATH).json()["policy"]["mode"] == "enabled"
    page = undo(console, console.get(done.headers["location"]).text)
    assert "Revision 3 is in force." in page
    assert console.get(PATH).json()["policy"] == before


def test_a_draft_is_saved_with_what_the_form_changed(console: TestClient) -> None:
    draft = {**form_of({"publication": {"rules": [FACTS]}}, "save"), "/mode": "enabled"}

    done = console.post("/policy", data=draft, headers=OURS)

    assert done.headers["location"] == "/policy?tab=learning&saved=2"
    policy = console.get(PATH).json()["policy"]
    assert (policy["mode"], policy["publication"]["rules"][0]["name"]) == ("enabled", "facts")


def test_a_draft_that_comes_late_is_kept_beside_what_changed(console: TestClient) -> None:
    console.post(PATH, json={"mode": "manual_only"})

    late = console.post("/policy", data=form_of({"mode": "enabled"}, "save"), headers=OURS)

    assert late.status_code == 409
    assert "Somebody saved another revision meanwhile" in late.text
    assert 'name="revision" value="2"' in late.text
    assert "&#34;mode&#34;: &#34;enabled&#34;" in late.text
    again = form_of({"mode": "enabled"}, "save", revision=2)
    assert console.post("/policy", data=again, headers=OURS).status_code == 303


def test_a_number_beyond_reading_is_refused(console: TestClient) -> None:
    refused = console.post("/lab", data={"text": "x", "confidence": "9" * 5_000}, headers=OURS)

    assert refused.status_code == 400


def test_a_wrong_value_is_named_at_its_field(console: TestClient) -> None:
    draft = form_of({"judge": {"timeout_ms": -1}, "publication": {"rules": [{}]}}, "save")

    refused = console.post("/policy", data=draft, headers=OURS)

    assert refused.status_code == 400
    assert 'href="#p/judge/timeout_ms"' in refused.text
    assert 'aria-invalid="true"' in refused.text


def test_a_text_that_is_no_json_is_kept(console: TestClient) -> None:
    draft = {**form_of({}, "save"), "text": '{\n"mode": <b>'}

    page = console.post("/policy", data=draft, headers=OURS)

    assert "look at line 2" in page.text
    assert "&#34;mode&#34;: &lt;b&gt;" in page.text
    assert console.get(PATH).json()["revision"] == 1


@pytest.mark.parametrize("text", ["[]", "3", "null", "[" * 5_000])
def test_a_text_of_another_shape_is_no_failure(console: TestClient, text: str) -> None:
    for do in ("check", "dry_run", "save", "add:/publication/rules", "up:/publication/rules/9"):
        page = console.post("/policy", data={**form_of({}, do), "text": text}, headers=OURS)

        assert page.status_code in (200, 400)


def test_a_dry_run_of_the_run_memory_policy_counts_what_goes(console: TestClient) -> None:
    draft = form_of({"enabled": False}, "dry_run")

    page = console.post("/policy", params={"tab": "run_memory"}, data=draft, headers=OURS)

    assert "0 run memories would be deleted at once" in page.text


def test_the_default_route_is_chosen_from_those_that_there_are(console: TestClient) -> None:
    route = console.get("/v1/routes").json()["items"][0]["route_id"]
    page = console.get("/policy", params={"tab": "runtime"}).text
    draft = form_of({"default_route": route, "debug_level": "off"}, "save")

    done = console.post("/policy", params={"tab": "runtime"}, data=draft, headers=OURS)

    assert f'<option value="{route}" selected>' in page
    assert done.headers["location"].startswith("/policy?tab=runtime&saved=")


def test_a_viewer_sees_the_policy_and_cannot_change_it(guarded: TestClient) -> None:
    admin = {"Authorization": f"Bearer {ADMIN}"}
    made = guarded.post("/v1/tokens", json={"user_id": "vera", "role": "viewer"}, headers=admin)
    guarded.post("/signin", data={"token": made.json()["token"]}, headers=OURS)

    page = guarded.get("/policy").text
    refused = guarded.post("/policy", data=form_of({"mode": "enabled"}, "save"), headers=OURS)

    assert 'value="save"' not in page
    assert (refused.status_code, 'role="alert"' in refused.text) == (403, True)


def test_the_lab_shows_what_every_part_makes_of_a_text(console: TestClient) -> None:
    form = {"text": f"The key is {KEY}\nrun rm -rf /", "kind": "fact", "confidence": "80"}

    page = console.post("/lab", data=form, headers=OURS).text

    assert "may not be stored" in page
    assert "rejects it" in page
    assert "as it would be kept" in page


def test_a_text_of_the_lab_that_is_refused_is_kept(console: TestClient) -> None:
    form = {"text": "The office is in Oslo <b>", "kind": "rumour", "confidence": "80"}

    refused = console.post("/lab", data=form, headers=OURS)

    assert refused.status_code == 400
    assert "The office is in Oslo &lt;b&gt;" in refused.text


# In a browser


def test_a_policy_is_edited_tried_saved_and_restored(tab: Page, live: DaemonProcess) -> None:
    with httpx2.Client(base_url=live.url) as client:
        propose(client, "The office is in Oslo")
    tab.goto("/policy")
    text = tab.get_by_label("Document (JSON)")
    tab.get_by_label("mode", exact=True).select_option("enabled")
    tab.get_by_role("button", name="Add a rule").click()
    rule = tab.get_by_role("list", name="rules").get_by_role("listitem").first
    rule.get_by_label("action").select_option("reject")
    rule.get_by_label("name", exact=True).fill("no facts")
    rule.get_by_label("kind", exact=True).select_option("fact")
    tab.get_by_role("button", name="Dry run").click()
    expect(text).to_have_value(re.compile(r'"name": "no facts"'))
    expect(tab.get_by_role("heading", name="1 of 1 would flip")).to_be_visible()
    expect(tab.locator("#dry-run")).to_contain_text("The office is in Oslo")
    assert_accessible(tab)

    tab.get_by_role("button", name="Save").click()
    expect(tab.get_by_role("status").filter(has_text="Revision 2 is in force")).to_be_visible()
    tab.get_by_role("link", name="revision 1").click()
    expect(tab.locator("#revision ins", has_text="no facts")).to_be_visible()
    tab.get_by_role("button", name="Restore this revision").click()
    expect(tab.get_by_role("status").filter(has_text="Revision 3 is in force")).to_be_visible()
    expect(text).to_have_value(re.compile(r'"mode": "shadow"'))


def test_a_rule_is_quarantined_and_moved(tab: Page) -> None:
    tab.goto("/policy")
    rules = [FACTS, {"action": "reject", "name": "rest"}]
    tab.get_by_label("Document (JSON)").fill(json.dumps({"publication": {"rules": rules}}))
    tab.get_by_role("button", name="Check").click()
    listed = tab.get_by_role("list", name="rules").get_by_role("listitem")
    expect(listed.first).to_contain_text("facts")
    listed.first.locator("summary").click()
    listed.first.get_by_role("button", name="down").click()
    expect(listed.first).to_contain_text("rest")
    listed.first.locator("summary").click()
    listed.first.get_by_role("button", name="Quarantine").click()
    expect(listed.first).to_contain_text("quarantined")
    expect(tab.get_by_label("rules in quarantine")).to_have_value("rest")


def test_the_lab_compares_two_statements(tab: Page) -> None:
    tab.goto("/lab")
    tab.get_by_label("Text").fill("The project codename is Atlas.")
    tab.get_by_label("A second statement").fill("The project codename is Zephyr.")
    tab.get_by_role("button", name="Look at it").click()
    expect(tab.get_by_text("The two cannot both hold.")).to_be_visible()
    expect(tab.get_by_role("heading", name="What the policy would do")).to_be_visible()
    assert_accessible(tab)


def test_policy_and_lab_are_accessible_and_fit_a_phone(
    browser: Browser, live: DaemonProcess
) -> None:
    with tab_of(browser, live.url, viewport=PHONE) as tab:
        for path in (*(f"/policy?tab={name}" for name in TABS), "/policy?revision=1"):
            tab.goto(path)
            assert_fits(tab)
            assert_accessible(tab)

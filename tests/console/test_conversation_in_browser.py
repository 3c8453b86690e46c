"""Chat and runs in a browser: answers stream in, people decide in place, other tabs follow."""

import re

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.support.browser import PHONE, assert_accessible, assert_fits, tab_of
from tests.support.daemon import DaemonProcess
from tests.support.skill_service_harness import skill_md
from understudy.console.app import MAX_FORM_BYTES
from understudy.testing.answers import Answer, FakeCall, call
from understudy.testing.fake_model import FakeModel

QUESTION = call(
    "ask_user",
    {
        "questions": [
            {
                "header": "Drinks",
                "question": "Tea or coffee?",
                "options": [{"label": "Tea"}, {"label": "Coffee"}],
            }
        ]
    },
)
SHELL = call("shell", {"command": "echo here"})
TABS = ("journal", "scopes", "persona", "permissions", "tasks", "sidechains", "settings")
VIEWS = ("timeline", "steps", "prompt", "memory", "learned", "journal", "details")


@pytest.fixture(autouse=True)
def _answers(fake: FakeModel) -> None:
    fake.forget()


@pytest.fixture
def session(live: DaemonProcess) -> str:
    return str(live.post("/v1/sessions", json={})["session_id"])


def composer(tab: Page) -> Locator:
    return tab.get_by_label("Say something to this session")


def say(tab: Page, session: str, text: str) -> None:
    tab.goto(f"/sessions/{session}")
    composer(tab).fill(text)
    composer(tab).press("Enter")


def held(live: DaemonProcess, fake: FakeModel, session: str, answer: Answer = SHELL) -> str:
    """A run that waits for a person."""
    fake.queue(answer, "All done")
    run_id = live.submit(session, "please do it")
    live.client()
    for _ in range(400):
        if live.get(f"/v1/runs/{run_id}")["status"].startswith("waiting"):
            return run_id
    raise AssertionError("the run does not wait")


def test_a_session_begins_with_a_chosen_agent_and_an_answer_streams_in(
    tab: Page, live: DaemonProcess, fake: FakeModel
) -> None:
    # The end of the stream never comes: what is shown is what was streamed.
    fake.queue(Answer(text="first second", pieces=("The **first** half ", "second"), stall=True))
    tab.goto("/sessions")
    tab.get_by_label("With agent").select_option("default")
    tab.get_by_role("button", name="New session").click()
    expect(tab).to_have_url(re.compile("/sessions/.+"))
    composer(tab).fill("a line\nanother line")
    composer(tab).press("Enter")

    expect(tab.locator(".said.person")).to_contain_text("another line")
    expect(tab.locator(".streaming .text")).to_contain_text("The **first** half")
    expect(composer(tab)).to_have_value("")
    assert_accessible(tab)

    tab.get_by_role("button", name="Interrupt").click()
    expect(tab.locator(".problem")).to_contain_text("interrupted")
    expect(tab.locator(".streaming")).to_have_count(0)


def test_the_finished_answer_is_markdown_without_images_and_markup(
    tab: Page, fake: FakeModel, session: str
) -> None:
    fake.queue("# Plan\n\n- **bold**\n\n<b>raw</b> ![x](https://elsewhere.example/x.png)")
    say(tab, session, "plan <b>it</b>")

    answer = tab.locator(".said.agent .prose")
    expect(answer.locator("li strong")).to_have_text("bold")
    expect(answer).to_contain_text("<b>raw</b>")
    assert answer.locator("h1, img, b").count() == 0
    expect(tab.locator(".said.person .text")).to_have_text("plan <b>it</b>")


def test_shift_enter_begins_a_line_and_nothing_is_lost_when_sending_fails(
    browser: Browser, live: DaemonProcess, session: str
) -> None:
    # A tab of its own: htmx reports a lost connection in the console.
    with browser.new_context(base_url=live.url) as context:
        tab = context.new_page()
        tab.goto(f"/sessions/{session}")
        alert = tab.locator(".composer [role=alert]").first
        composer(tab).fill("one")
        composer(tab).press("Shift+Enter")
        composer(tab).press_sequentially("two")
        context.set_offline(True)
        composer(tab).press("Enter")
        expect(alert).to_contain_text("was not reached")
        expect(composer(tab)).to_have_value("one\ntwo")

        context.set_offline(False)
        composer(tab).fill("x" * MAX_FORM_BYTES)
        composer(tab).press("Enter")
        expect(alert).to_contain_text(str(MAX_FORM_BYTES))
        assert len(composer(tab).input_value()) == MAX_FORM_BYTES


def test_a_call_is_allowed_in_one_tab_and_another_tab_follows(
    tab: Page, browser: Browser, live: DaemonProcess, fake: FakeModel, session: str
) -> None:
    run_id = held(live, fake, session)
    with tab_of(browser, live.url) as other:
        other.goto(f"/runs/{run_id}")
        expect(other.get_by_role("button", name="Allow once")).to_be_visible()
        tab.goto(f"/sessions/{session}")
        composer(tab).fill("not sent yet")
        tab.get_by_role("button", name="Allow once").click()

        expect(tab.locator(".said.agent .prose").last).to_have_text("All done")
        expect(composer(tab)).to_have_value("not sent yet")
        expect(other.locator(".meta .chip").first).to_have_text("completed")
    tool = tab.locator("details.call")
    tool.locator("summary").click()
    expect(tool).to_contain_text("echo here")


def test_a_command_allowed_for_the_session_is_not_asked_about_again(
    tab: Page, live: DaemonProcess, fake: FakeModel, session: str
) -> None:
    held(live, fake, session)
    tab.goto(f"/sessions/{session}")
    tab.get_by_role("button", name="Allow this exact command in this session").click()
    expect(tab.locator(".said.agent .prose").last).to_have_text("All done")

    fake.queue(SHELL, "Again done")
    composer(tab).fill("again")
    composer(tab).press("Enter")

    expect(tab.locator(".said.agent .prose").last).to_have_text("Again done")
    tab.goto(f"/sessions/{session}?tab=permissions")
    expect(tab.get_by_role("row", name="shell allow").first).to_be_visible()


def test_a_denial_tells_the_model_why(
    tab: Page, live: DaemonProcess, fake: FakeModel, session: str
) -> None:
    run_id = held(live, fake, session)
    tab.goto(f"/runs/{run_id}")
    tab.get_by_label("Reason, told to the model").fill("not on a Sunday")
    tab.get_by_role("button", name="Deny").click()
    expect(tab.locator(".meta .chip").first).to_have_text("completed")

    assert "not on a Sunday" in str(fake.requests[-1].body)
    tab.goto(f"/runs/{run_id}?tab=steps")
    tab.keyboard.press("f")
    expect(tab.locator("details.step")).to_have_count(1)
    expect(tab.locator("details.step")).to_contain_text("not on a Sunday")


@pytest.mark.parametrize("way", ["choice", "words", "decline"])
def test_a_question_is_answered_in_place(
    tab: Page, live: DaemonProcess, fake: FakeModel, session: str, way: str
) -> None:
    run_id = held(live, fake, session, QUESTION)
    tab.goto(f"/sessions/{session}")
    if way == "choice":
        tab.get_by_label("Coffee").check()
    elif way == "words":
        tab.get_by_label("Or in your own words").fill("cocoa")
    tab.get_by_role("button", name="Decline" if way == "decline" else "Answer").click()
    expect(tab.locator(".wait")).to_have_count(0)

    live.wait_for_run(run_id)
    told = {"choice": "Coffee", "words": "cocoa", "decline": "declined"}[way]
    assert told in str(fake.requests[-1].body)


def test_a_run_is_cancelled_by_key_and_the_next_in_line_is_seen(
    tab: Page, live: DaemonProcess, fake: FakeModel, session: str
) -> None:
    run_id = held(live, fake, session)
    later = live.submit(session, "and then this")
    tab.goto(f"/sessions/{session}")
    expect(tab.locator(f"#{later}")).to_contain_text("queued")
    fake.forget()
    fake.queue("Next done")
    tab.goto(f"/runs/{run_id}")
    tab.keyboard.press("x")

    expect(tab.locator(".meta .chip").first).to_have_text("cancelled")
    tab.goto(f"/sessions/{session}")
    expect(tab.locator(".said.agent .prose").last).to_have_text("Next done")


def test_what_was_learned_appears_and_is_decided_with_one_key(
    tab: Page, fake: FakeModel, session: str
) -> None:
    fake.queue("Noted")
    say(tab, session, "Preference: answer in short sentences.")

    learned = tab.locator(".learned").first
    expect(learned).to_contain_text("answer in short sentences")
    composer(tab).blur()
    tab.keyboard.press("a")
    expect(learned.locator(".chip.good")).to_have_text("published")


@pytest.mark.parametrize(("key", "old"), [("s", "superseded"), ("b", "active")])
def test_what_contradicts_a_learning_replaces_it_or_is_kept_beside_it_by_a_key(
    tab: Page, live: DaemonProcess, fake: FakeModel, session: str, key: str, old: str
) -> None:
    known = live.post("/v1/learnings", json={"content": f"The {key} gate is green", "kind": "fact"})
    fake.queue("Noted")
    say(tab, session, f"Fact: The {key} gate is blue.")
    learned = tab.locator(".learned").first
    expect(learned).to_contain_text(f"The {key} gate is blue")
    composer(tab).blur()
    tab.keyboard.press("a")
    expect(learned.locator(".refusal").first).to_contain_text(f"“The {key} gate is green”")
    assert_accessible(tab)

    tab.keyboard.press(key)

    expect(learned.locator(".chip.good")).to_have_text("published")
    assert live.get(f"/v1/learnings/{known['learning_id']}")["status"] == old
    # Other tests of this daemon are told nothing of it.
    live.post("/v1/learnings/revoke-matching", json={"query": f"The {key} gate"})


def test_the_tabs_of_a_session_and_the_views_of_a_run_are_accessible(
    tab: Page, live: DaemonProcess, fake: FakeModel
) -> None:
    for slug in ("alpha", "beta", "gamma"):
        live.post("/v1/skills", json={"content": skill_md(f"Skill {slug}"), "slug": slug})
    persona = {"persona_id": "clerk", "capability_scope": {"skill_allow": ["alpha", "beta"]}}
    live.post("/v1/personas", json={**persona, "soul": "Be brief."})
    own = {"persona_id": "clerk", "capability_scope": {"skill_allow": ["beta", "gamma"]}}
    session = live.post("/v1/sessions", json=own)["session_id"]
    run_id = held(live, fake, session)
    for path in (f"/sessions/{session}", f"/runs/{run_id}"):
        tab.goto(path)
        assert_accessible(tab)
    tab.get_by_role("button", name="Allow once").click()
    expect(tab.locator(".meta .chip").first).to_have_text("completed")
    for name in TABS:
        tab.goto(f"/sessions/{session}?tab={name}")
        assert_accessible(tab)
    tab.goto(f"/sessions/{session}?tab=scopes")
    skill = tab.get_by_role("row", name="skill").first
    expect(skill.get_by_role("cell")).to_have_text(
        ["only alpha beta", "only beta gamma", "only beta"]
    )
    tab.goto(f"/runs/{run_id}")
    for name in VIEWS[1:]:
        tab.keyboard.press("t")
        expect(tab).to_have_url(re.compile(f"tab={name}"))
        assert_accessible(tab)


def test_steps_are_walked_through_by_keys_alone(
    tab: Page, live: DaemonProcess, fake: FakeModel, session: str
) -> None:
    fake.queue(Answer(calls=(FakeCall(name="list_files", arguments={"path": "."}),)), "Done")
    run_id = live.run(session, "look around")["run_id"]
    tab.goto(f"/runs/{run_id}?tab=steps")
    for key in ("n", "n", "n", "p"):
        tab.keyboard.press(key)
    tab.keyboard.press("Enter")

    expect(tab.locator("details.step").nth(1)).to_have_attribute("open", "")
    expect(tab.locator("details.step").nth(1)).to_contain_text("list_files")


def test_the_requests_of_a_run_are_switched_on_where_they_are_missed(
    tab: Page, live: DaemonProcess, fake: FakeModel, session: str
) -> None:
    fake.queue("One", "Two")
    before = live.run(session, "hello")["run_id"]
    tab.goto(f"/runs/{before}?tab=prompt")
    # The page says the same before and after, so only the answer tells that it is done.
    with tab.expect_response(re.compile("/act/")):
        tab.get_by_role("button", name="Keep the requests of new runs").click()
    expect(tab.get_by_text("were not kept")).to_be_visible()
    after = live.run(session, "hello again")["run_id"]
    tab.goto(f"/runs/{after}?tab=prompt")

    expect(tab.get_by_text("Request of step 1")).to_be_visible()
    expect(tab.locator("details[open] pre").last).to_contain_text("hello again")


def test_a_phone_is_enough_to_decide_and_to_answer(
    browser: Browser, live: DaemonProcess, fake: FakeModel, session: str
) -> None:
    run_id = held(live, fake, session)
    with tab_of(browser, live.url, viewport=PHONE) as tab:
        for path in (f"/runs/{run_id}?tab=journal", f"/sessions/{session}?tab=scopes", "/runs"):
            tab.goto(path)
            assert_fits(tab)
        tab.goto(f"/sessions/{session}")
        assert_fits(tab)
        tab.get_by_role("button", name="Allow once").click()
        expect(tab.locator(".said.agent .prose").last).to_have_text("All done")


def test_the_list_of_runs_follows_and_is_narrowed_by_its_counts(
    tab: Page, live: DaemonProcess, fake: FakeModel, session: str
) -> None:
    tab.goto(f"/runs?session_id={session}")
    expect(tab.get_by_text("Nothing matches")).to_be_visible()
    run_id = held(live, fake, session)

    tab.get_by_role("link", name="waiting for approval 1").click()
    expect(tab).to_have_url(re.compile("status=waiting_for_approval"))
    tab.get_by_role("link", name="please do it").click()
    expect(tab).to_have_url(re.compile(run_id))


def test_the_composer_of_an_empty_conversation_is_at_the_foot(
    tab: Page, live: DaemonProcess
) -> None:
    tab.goto(f"/sessions/{live.post('/v1/sessions', {})['session_id']}")
    box = tab.locator("form.composer").bounding_box()
    foot = tab.locator(".foot").bounding_box()
    assert box is not None
    assert foot is not None
    # What is between them is the gap of the page alone.
    assert 0 <= foot["y"] - (box["y"] + box["height"]) < 40
    assert foot["y"] + foot["height"] > tab.evaluate("innerHeight") - 40

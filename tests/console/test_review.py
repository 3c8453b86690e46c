"""The review over the API: each kind of thing that waits, and what its forms decide."""

import json
import re
from dataclasses import replace
from html import unescape
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.console.conftest import OURS
from tests.console.test_pages import propose
from tests.support.factories import NOW, make_agent, make_file, make_run, make_session
from tests.support.rollout_factories import make_evidence, make_rollout
from tests.support.rollout_harness import make_procedure
from understudy.core.principal import Principal, Role
from understudy.evolution.proposals import FileProposal, ProposalState
from understudy.runs.requests import PersonRequest, RequestKind
from understudy.skills.access import Author
from understudy.storage.unit import Unit

HIDDEN = re.compile(r"""<input type="hidden" name="([^"]+)" value=(["'])(.*?)\2>""", re.DOTALL)


def forms(page: str) -> dict[str, dict[str, str]]:
    """The hidden fields of the forms on a page, by the operation that they call."""
    found: dict[str, dict[str, str]] = {}
    for part in page.split('action="/act/')[1:]:
        form = part.split("</form>")[0]
        found[form.split('"')[0]] = {
            name: unescape(value) for name, _, value in HIDDEN.findall(form)
        }
    return found


def act(console: TestClient, page: str, operation: str, **more: str) -> str:
    """Send a form of a page, and where it leads to."""
    fields = {**forms(page)[operation], **more}
    done = console.post(f"/act/{operation}", data=fields, headers=OURS)
    assert done.status_code == 303, done.text
    return str(done.headers["location"])


def writing(console: TestClient) -> Any:
    return console.app.state.services.resources.units.write()  # type: ignore[attr-defined]


def add_request(unit: Unit, kind: RequestKind, body: dict[str, Any]) -> None:
    unit.sessions.add(make_session("s1"))
    unit.runs.add(make_run("s1", run_id="run_1"))
    unit.requests.add(
        PersonRequest(
            request_id="req_1",
            kind=kind,
            run_id="run_1",
            session_id="s1",
            call_key="key",
            body={"tool_call_id": "call_1", **body},
            created_at_ms=NOW,
        )
    )


def test_a_proposal_is_compared_with_the_file_and_approved(console: TestClient) -> None:
    with writing(console) as unit:
        unit.agents.add(make_agent("scribe"))
        unit.agents.add_file(make_file(agent_id="scribe", content="Speak calmly."))
        unit.proposals.add(
            FileProposal(
                proposal_id="prp_1",
                agent_id="scribe",
                name="SOUL.md",
                content="Speak warmly.",
                base_version=1,
                state=ProposalState.PENDING,
                actor="ann",
                run_id="run_1",
                created_at_ms=NOW,
            )
        )
    page = console.get("/review").text
    assert "<del>calmly</del>" in page
    assert "<ins>warmly</ins>" in page

    to = act(console, page, "agents.approve_proposal")

    assert to == "/review?told=approved"
    assert "the file has a new version" in console.get(to).text
    assert console.get("/v1/agents/scribe/files/SOUL.md").json()["content"] == "Speak warmly."


def test_a_skill_draft_is_compared_with_what_is_served_and_accepted(console: TestClient) -> None:
    service = console.app.state.services.skills.service  # type: ignore[attr-defined]
    person = Author(principal=Principal(user_id="local", role=Role.ADMIN))
    tainted = replace(person, agent_id="default", run_id="run_1", untrusted=("tool_result",))
    text = "---\nname: Weekly report\ndescription: Writes it\n---\nCollect calmly.\n"
    service.create(person, text)
    service.create(tainted, text.replace("calmly", "warmly"))
    service.create(tainted, text.replace("Weekly", "Daily"))
    assert console.get("/skills").text.count("draft waits") == 2

    page = console.get("/review?kind=skill_draft").text
    assert "Collect calmly." in page
    assert "new skill" in page
    to = act(console, page, "skills.reject", reason="no")
    page = console.get(to).text
    assert re.search(r"Collect .*calmly.*Collect .*warmly", page, re.DOTALL)
    assert "the result of a tool" in page
    to = act(console, page, "skills.accept")

    assert "serves this version now" in console.get(to).text
    assert console.get("/v1/skills/weekly-report").json()["version"] == 2
    assert "rejected" in console.get("/skills/daily-report?tab=versions").text


def test_a_rollout_step_says_what_is_there_and_is_taken(console: TestClient) -> None:
    with writing(console) as unit:
        unit.sessions.add(make_session("s1"))
        unit.runs.add(make_run("s1", run_id="run_1"))
        unit.learnings.add(make_procedure("lrn_1"))
        rollout = make_rollout(
            "learning:notes",
            source_learning_id="lrn_1",
            derived_from_untrusted=True,
            untrusted_path=("tool_result",),
        )
        unit.rollouts.add(rollout)
        unit.rollouts.add_evidence(make_evidence(rollout))
    page = console.get("/review/rollout_step/learning:notes").text
    assert "Nothing is missing." in page
    assert "/runs/run_1" in page
    for told in (page, console.get("/rollouts/learning:notes").text):
        assert "It may repeat what tools, files or strangers wrote." in told
        assert "the result of a tool" in told
    assert "untrusted source" in console.get("/rollouts").text

    to = act(console, page, "rollouts.advance")

    assert to == "/review?told=advanced"
    assert console.get("/v1/learning-skills/learning:notes").json()["status"] == "verified"


def test_an_approval_shows_its_arguments_and_is_never_markup(console: TestClient) -> None:
    body = {
        "tool_name": "edit_file",
        "scope": "session",
        "reason": "files are looked at first",
        "input": {"path": "<b>notes.md</b>", "old_text": "one two", "new_text": "one three"},
    }
    with writing(console) as unit:
        add_request(unit, RequestKind.APPROVAL, body)

    page = console.get("/review").text

    assert "&lt;b&gt;notes.md&lt;/b&gt;" in page
    assert "<b>notes" not in page
    assert "<del>two</del>" in page
    assert "Allow every call of edit_file in this session" in page


def test_a_question_offers_its_options(console: TestClient) -> None:
    options = [{"id": "o1", "label": "Staging"}, {"id": "o2", "label": "Production"}]
    with writing(console) as unit:
        questions = [{"id": "q1", "question": "Where to?", "options": options}]
        add_request(unit, RequestKind.QUESTION, {"questions": questions})

    page = console.get("/review/question/req_1").text

    assert "Where to?" in page
    assert 'name="resolution.answers.0.selected_option_ids[]" value="o2"' in page


def test_a_kind_narrows_the_list_and_stays_in_the_address(console: TestClient) -> None:
    first, second = propose(console, "X is blue"), propose(console, "Y is red")

    page = console.get("/review?kind=candidate").text

    assert f'href="/review/{second}?kind=candidate"' in page
    to = act(console, page, "learning_candidates.reject", reason="no")
    assert to == f"/review/{second}?kind=candidate&done={first}"
    assert "1 of 1" in console.get(to).text
    assert "Nothing waits" in console.get("/review?kind=question").text


def test_bulk_decisions_are_previewed_before_they_are_taken(console: TestClient) -> None:
    ids = [propose(console, f"Room {number} is free") for number in (1, 2)]
    chosen = {"id": [*ids, "cand_none"]}

    page = console.get("/review/bulk/reject", params=chosen).text

    assert "2 will be done, 1 blocked" in page
    assert len(console.get("/v1/inbox").json()["items"]) == 2
    fields = forms(page)["learning_candidates.bulk"]
    shown = [{"candidate_id": each, "version": 1} for each in ids]
    assert json.loads(fields["candidates"]) == shown
    done = console.post(
        "/act/learning_candidates.bulk", data={**fields, "reason": "not now"}, headers=OURS
    )
    assert done.headers["location"] == "/review?told=bulk&decided=2&refused=0"
    assert console.get("/v1/inbox").json()["items"] == []


def test_a_bulk_publication_shows_scope_and_reach_and_is_taken_as_shown(
    console: TestClient,
) -> None:
    with writing(console) as unit:
        unit.sessions.add(make_session("s1"))
    session = {"kind": "session", "id": "s1"}
    first = propose(console, "I prefer short answers", kind="preference", scope=session)
    second = propose(console, "The lift is slow", scope=session)

    page = console.get("/review/bulk/publish", params={"id": [first, second]}).text

    assert "<b>workspace</b>" in page
    assert "injected in this session only" in page
    fields = forms(page)["learning_candidates.bulk"]
    # Somebody else is quicker with one of them.
    console.post(f"/v1/learning-candidates/{second}/reject", json={})
    done = console.post("/act/learning_candidates.bulk", data=fields, headers=OURS)
    assert done.headers["location"] == "/review?told=bulk&decided=1&refused=1"
    [learned] = console.get("/v1/learnings").json()["items"]
    assert learned["scope"]["kind"] == "workspace"


def test_a_bulk_decision_about_nothing_or_of_another_sort_is_none(console: TestClient) -> None:
    assert console.get("/review/bulk/publish").headers["location"] == "/review"
    assert console.get("/review/bulk/burn?id=x").status_code == 400
    assert console.get("/review/letters/x").status_code == 404


def test_what_is_gone_is_no_longer_found(console: TestClient) -> None:
    assert console.get("/review/cand_none").status_code == 404
    assert console.get("/review?done=cand_none").status_code == 200


@pytest.mark.parametrize(
    ("command", "is_offered"), [("git status", True), ("rm *", False)], ids=["exact", "wildcard"]
)
def test_a_command_is_allowed_for_the_session_only_as_it_stands(
    console: TestClient, command: str, *, is_offered: bool
) -> None:
    body = {"tool_name": "shell", "scope": "tool", "reason": "asks", "input": {"command": command}}
    with writing(console) as unit:
        add_request(unit, RequestKind.APPROVAL, body)

    page = console.get("/review").text

    assert ("Allow this exact command in this session" in page) == is_offered
    assert "Allow every call" not in page


def test_no_key_that_puts_off_elsewhere_decides_about_a_second_approval(
    console: TestClient,
) -> None:
    console.post("/v1/runtime", json={"require_two_approvers": ["policy_change"]})
    waits = console.post("/v1/runtime/learning-policy", json={"mode": "shadow"}).json()

    page = console.get(f"/review/second_approval/{waits['approval_id']}").text

    assert re.findall(r'data-key="(\w)">[^<]*<kbd>', page) == ["r"]

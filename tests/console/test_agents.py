"""Agents in the console: switches, files with versions, prompt preview, tools, proposals."""

import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect
from starlette.testclient import TestClient

from tests.api.conftest import ADMIN, idle_daemon
from tests.api.live import settings_at
from tests.console.conftest import HIDDEN, OURS, client_of, undo
from tests.support.browser import PHONE, assert_accessible, assert_fits, tab_of
from tests.support.daemon import DaemonProcess
from tests.support.factories import make_file
from tests.support.mcp_servers import RUDE
from tests.support.skill_service_harness import skill_md
from understudy.console.pages.agents import TABS
from understudy.daemon.wiring import Daemon
from understudy.evolution.proposals import FileProposal, ProposalState

SOUL = "Answer in two sentences.\nUse plain words.\n"


def make(client: TestClient | httpx2.Client, agent_id: str, kind: str = "predefined") -> str:
    """A new agent with a SOUL.md; its page."""
    client.post("/v1/agents", json={"agent_id": agent_id, "agent_type": kind})
    client.put(f"/v1/agents/{agent_id}/files/SOUL.md", json={"content": SOUL})
    return f"/agents/{agent_id}"


@pytest.fixture
def daemon(tmp_path: Path, fresh_database: Path) -> Iterator[Daemon]:
    """A daemon that works on nothing."""
    daemon = idle_daemon(tmp_path / "home", fresh_database)
    yield daemon
    daemon.resources.database.dispose()


@pytest.mark.parametrize("language", ["en", "vi", "zh"])
@pytest.mark.parametrize("tab", TABS)
def test_every_tab_answers(console: TestClient, tab: str, language: str) -> None:
    path = make(console, "writer")

    page = console.get(path, params={"tab": tab}, headers={"Accept-Language": language})

    assert page.status_code == 200


def test_the_switch_of_self_evolution_is_for_predefined_agents(console: TestClient) -> None:
    predefined, opened = make(console, "writer"), make(console, "notes", "open")

    assert 'role="switch"' in console.get(predefined).text
    assert "96 tokens" in console.get(predefined).text
    assert 'role="switch"' not in console.get(opened).text
    assert 'role="switch"' not in console.get(opened, params={"tab": "config"}).text


def test_an_agent_is_created_changed_and_deleted(console: TestClient) -> None:
    new = {"agent_id": "writer", "agent_type": "predefined", "display_name": "", "route": ""}
    made = console.post("/agents", data=new, headers=OURS)
    again = console.post("/agents", data=new, headers=OURS)
    change = {"display_name": "Ada", "max_tool_iterations": "7", "route": "", "owner_id": ""}
    saved = console.post("/agents/writer", data=change, headers=OURS)
    wrong = console.post(
        "/agents/writer", data={**change, "max_tool_iterations": "many"}, headers=OURS
    )

    assert made.headers["location"] == "/agents/writer"
    assert (again.status_code, 'role="alert"' in again.text) == (409, True)
    assert saved.headers["location"] == "/agents/writer?tab=general&done=general"
    assert (wrong.status_code, 'value="many"' in wrong.text) == (400, True)
    agent = console.get("/v1/agents/writer").json()
    assert (agent["display_name"], agent["max_tool_iterations"]) == ("Ada", 7)
    assert "owner_id" not in agent
    gone = {"agent_id": "writer", "_to": "/agents"}
    assert console.post("/act/agents.delete", data=gone, headers=OURS).status_code == 303
    assert console.get("/agents/writer").status_code == 404


def test_saving_an_agent_keeps_a_route_that_is_no_longer_configured(daemon: Daemon) -> None:
    with client_of(daemon) as console:
        path = make(console, "writer")
        with daemon.resources.units.write() as unit:
            made = unit.agents.get("writer")
            assert made is not None
            changed = replace(made, route="gone", version=made.version + 1)
            unit.agents.update(changed, expected_version=made.version)

        page = console.get(path).text
        chosen = re.findall(r'<option value="([^"]*)" selected>([^<]*)', page)
        form = {"display_name": "Ada", "max_tool_iterations": "7", "route": "gone", "owner_id": ""}
        saved = console.post(path, data=form, headers=OURS)
        other = console.post(path, data={**form, "route": "never"}, headers=OURS)
        agent = console.get("/v1/agents/writer").json()

    assert ("gone", "gone (not configured)") in chosen
    assert saved.status_code == 303
    assert (agent["display_name"], agent["route"]) == ("Ada", "gone")
    assert other.status_code == 400


def test_the_skills_of_an_agent_say_why_each_may_be_used(console: TestClient) -> None:
    made = console.post("/v1/skills", json={"content": skill_md()})
    assert made.is_success, made.text
    page = console.get(make(console, "writer"), params={"tab": "skills"}).text
    assert "The user owns it." in page


def test_a_file_that_changed_meanwhile_keeps_both_texts(console: TestClient) -> None:
    path = make(console, "writer")
    form = {"_do": "file", "name": "SOUL.md", "content": "Mine <b>", "version": "1"}
    console.put("/v1/agents/writer/files/SOUL.md", json={"content": "Theirs"})

    late = console.post(path, params={"tab": "files"}, data=form, headers=OURS)

    assert late.status_code == 409
    assert "Theirs" in late.text
    assert "Mine &lt;b&gt;" in late.text
    assert 'name="version" value="2"' in late.text


def test_a_file_without_its_version_is_refused(console: TestClient) -> None:
    path = make(console, "writer")
    form = {"_do": "file", "name": "SOUL.md", "content": "Be brief."}

    assert console.post(path, data=form, headers=OURS).status_code == 400


def test_a_version_that_cannot_be_is_shown_as_the_newest(console: TestClient) -> None:
    path = make(console, "writer")

    page = console.get(path, params={"tab": "history", "version": "9" * 5_000})

    assert page.status_code == 200


def test_an_operator_sees_the_evolution_of_an_agent_of_somebody_else(guarded: TestClient) -> None:
    admin = {"Authorization": f"Bearer {ADMIN}"}
    agent = {"agent_id": "writer", "agent_type": "predefined"}
    assert guarded.post("/v1/agents", json=agent, headers=admin).status_code == 201
    user = {"user_id": "olga", "role": "operator"}
    token = guarded.post("/v1/tokens", json=user, headers=admin).json()["token"]
    guarded.post("/signin", data={"token": token}, headers=OURS)

    page = guarded.get("/agents/writer", params={"tab": "evolution"})

    assert page.status_code == 200


def test_a_version_of_a_file_says_why_it_was_written_and_is_undone(console: TestClient) -> None:
    path = make(console, "writer")
    form = {"_do": "file", "name": "SOUL.md", "content": "Be warm.", "version": "1"}
    form["reason"] = "Customers asked for it."
    done = console.post(path, params={"tab": "files"}, data=form, headers=OURS)
    history = console.get(path, params={"tab": "history", "file": "SOUL.md"}).text
    assert "Reason: Customers asked for it." in history
    undo(console, console.get(done.headers["location"]).text)
    assert console.get("/v1/agents/writer/files/SOUL.md").json()["content"] == SOUL
    for language, why in (("en", "version 1 was restored"), ("zh", "已恢复版本 1")):
        query = {"tab": "history", "file": "SOUL.md"}
        assert why in console.get(path, params=query, headers={"Accept-Language": language}).text


def test_a_file_keeps_its_line_breaks(console: TestClient) -> None:
    path = make(console, "writer")
    form = {"_do": "file", "name": "AGENTS.md", "content": "one\r\ntwo\r\n", "version": "0"}

    console.post(path, params={"tab": "files"}, data=form, headers=OURS)

    assert console.get("/v1/agents/writer/files/AGENTS.md").json()["content"] == "one\ntwo\n"


def test_a_proposal_is_shown_with_its_changes_and_decided(daemon: Daemon) -> None:
    with client_of(daemon) as console:
        path = make(console, "writer")
        proposal = FileProposal(
            proposal_id="prp_1",
            agent_id="writer",
            name="SOUL.md",
            content="Be warm.\n",
            base_version=1,
            state=ProposalState.PENDING,
            actor="ann",
            run_id="run_1",
            created_at_ms=1,
        )
        with daemon.resources.units.write() as unit:
            unit.proposals.add(proposal)

        page = console.get(path, params={"tab": "evolution"}).text
        assert page.count("+Be warm.") == 1
        form = {"agent_id": "writer", "proposal_id": "prp_1", "_to": f"{path}?tab=evolution"}
        console.post("/act/agents.approve_proposal", data=form, headers=OURS)

        assert '<span class="add">+Be warm.' in page
        file = console.get("/v1/agents/writer/files/SOUL.md").json()
        assert (file["content"], file["version"]) == ("Be warm.\n", 2)


def test_the_tools_of_a_server_are_accepted_with_one_click(
    tmp_path: Path, fresh_database: Path
) -> None:
    config = f'[mcp.servers.near]\ncommand = {sys.executable!r}\nargs = [{str(RUDE)!r}, "plain"]\n'
    settings = settings_at(tmp_path / "home", config=config)
    shutil.copy(fresh_database, settings.home / "understudy.db")
    daemon = Daemon(settings)
    daemon.resources.state = "ready"
    with client_of(daemon) as console:
        path = make(console, "writer")
        console.post("/v1/mcp-servers/near/restart").raise_for_status()
        page = console.get(path, params={"tab": "tools"}).text
        form = re.search(
            r'<form method="post" action="/act/mcp_servers.accept".*?</form>', page, re.DOTALL
        )
        assert form is not None
        values = dict(re.findall(r'name="([^"]+)" value=["\'](.*?)["\']>', form[0]))
        done = console.post("/act/mcp_servers.accept", data=values, headers=OURS)
        assert done.status_code == 303
        assert "mcp_servers.accept" not in console.get(path, params={"tab": "tools"}).text
        [server] = console.get("/v1/mcp-servers").json()["items"]
        assert "unaccepted" not in server
        assert console.portal is not None
        console.portal.call(daemon.services.mcp.close)
    daemon.resources.database.dispose()


@pytest.mark.parametrize("tab", ["files", "history"])
def test_what_an_agent_wrote_is_accepted_with_one_click(daemon: Daemon, tab: str) -> None:
    with client_of(daemon) as console:
        path = make(console, "writer")
        with daemon.resources.units.write() as unit:
            file = make_file("SOUL.md", SOUL + "Joke.\n", agent_id="writer", version=2)
            unit.agents.add_file(replace(file, run_id="run_1", untrusted_sources=("tool_result",)))
        page = console.get(path, params={"tab": tab, "file": "SOUL.md"}).text
        form = re.search(
            r'<form method="post" action="/act/agents.accept_file".*?</form>', page, re.DOTALL
        )
        assert form is not None
        values = {name: unescape(value) for name, value in HIDDEN.findall(form[0])}
        console.post("/act/agents.accept_file", data=values, headers=OURS)
        kept = console.get("/v1/agents/writer/files/SOUL.md").json()
        assert (kept["version"], kept["reviewed_by"]) == (2, "local")
        assert kept["untrusted_sources"] == []
        assert "agents.accept_file" not in console.get(values["_to"]).text


# In a browser


@pytest.fixture(scope="module")
def writer(live: DaemonProcess) -> str:
    """The page of a predefined agent."""
    with httpx2.Client(base_url=live.url) as client:
        return make(client, "writer")


def test_self_evolution_and_skill_learning_are_switched(tab: Page, writer: str) -> None:
    tab.goto(writer)
    switch = tab.get_by_role("switch", name="Self-Evolution")
    expect(switch).to_have_attribute("aria-checked", "false")
    switch.click()
    expect(tab.get_by_role("status").filter(has_text="Self-Evolution is on")).to_be_visible()
    expect(switch).to_have_attribute("aria-checked", "true")

    tab.get_by_role("link", name="Config").click()
    tab.get_by_role("switch", name="Skill Learning").click()
    expect(tab.get_by_role("status").filter(has_text="Skill Learning is on")).to_be_visible()
    tab.get_by_role("spinbutton", name="Interval").fill("20")
    tab.get_by_role("button", name="Save").click()
    expect(tab.get_by_role("spinbutton", name="Interval")).to_have_value("20")

    tab.get_by_role("link", name="Prompt preview").click()
    expect(tab.locator("summary", has_text="Self-Evolution")).to_be_visible()


def test_a_file_is_edited_and_restored(tab: Page, writer: str) -> None:
    tab.goto(f"{writer}?tab=files&file=IDENTITY.md")
    for number, text in enumerate(("You are Ada.", "You are Bob."), 1):
        tab.get_by_label("Content").fill(text)
        tab.get_by_role("button", name=f"Save as version {number}").click()
        expect(tab.get_by_role("status").filter(has_text=f"version {number}")).to_be_visible()

    tab.get_by_role("link", name="History").last.click()
    expect(tab.locator(".diff ins")).to_contain_text("Bob")
    tab.get_by_role("link", name="version 1").click()
    tab.get_by_role("button", name="Restore this version").click()
    expect(tab.get_by_role("status").filter(has_text="Restored as version 3")).to_be_visible()
    tab.get_by_role("link", name="Files").click()
    tab.get_by_role("link", name="IDENTITY.md").click()
    expect(tab.get_by_label("Content")).to_have_value("You are Ada.")


def test_every_tab_is_accessible_and_fits_a_phone(
    browser: Browser, live: DaemonProcess, writer: str
) -> None:
    with tab_of(browser, live.url, viewport=PHONE) as tab:
        for name in TABS:
            tab.goto(f"{writer}?tab={name}")
            assert_fits(tab)
            assert_accessible(tab)

"""The record of how an agent evolved and what came of skills, over HTTP, in the client, on the command line."""

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.api.live import Live
from tests.support.command_line_in_process import Typed, typed
from tests.support.evolving_runs import working
from understudy.client import Client
from understudy.evolution.record import NudgeEntry, OfferEntry, SkillVersionEntry, SoulVersionEntry
from understudy.evolution.switch_costs import costs
from understudy.testing.answers import call

NUMBERS = count(1)
SKILL = "---\nname: {name}\ndescription: Tells the weather.\n---\nLook out of the window.\n"


@pytest.fixture
def agent(live: Live) -> Iterator[str]:
    """An agent that evolves and has a small budget, with a session of the same name."""
    name = f"evolver-{next(NUMBERS)}"
    live.ok(
        "POST",
        "/v1/agents",
        {
            "agent_id": name,
            "agent_type": "predefined",
            "max_tool_iterations": 10,
            "other_config": {
                "self_evolve": True,
                "skill_evolve": True,
                "skill_nudge_interval": 9,
            },
        },
    )
    live.session(name, agent_id=name)
    yield name
    live.model.rule = None


def tell(live: Live, agent: str, text: str, *lines: Any) -> dict[str, Any]:
    """A run in which the model makes these calls and then says that it is done."""
    said = iter(lines)
    live.model.rule = lambda _: next(said, "done")
    return live.run(agent, text)


def invoke(live: Live, *line: str, exit_code: int = 0) -> Typed:
    result = typed("--url", str(live.client.base_url), *line)
    assert result.exit_code == exit_code, result.output
    return result


def entries(live: Live, agent: str, query: str = "") -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = live.ok("GET", f"/v1/agents/{agent}/evolution{query}")["items"]
    return items


def test_what_a_run_did_to_its_agent_is_in_the_record(live: Live, agent: str) -> None:
    soul = call("write_file", {"path": "SOUL.md", "content": "Be warm.\n"})
    slug = f"weather-{agent}"
    make = call("skill_manage", {"action": "create", "content": SKILL.format(name=slug)})
    live.model.rule = working(9, name="list_files")
    nudging = live.run(agent, "tidy up")
    tell(live, agent, "save as skill", make)
    # The session has read what tools answered, so the user asks for it by name.
    accepted = tell(live, agent, "Please write SOUL.md anew, in a warmer tone.", soul)

    found = entries(live, agent)

    kinds = sorted(each["kind"] for each in found)
    assert kinds == [*["nudge"] * 3, "offer", "skill_version", "soul_version"]
    by_kind = {each["kind"]: each for each in found}
    assert by_kind["soul_version"]["run_id"] == accepted["run_id"]
    assert "+Be warm." in by_kind["soul_version"]["diff"]
    assert by_kind["skill_version"]["slug"] == slug
    assert by_kind["skill_version"]["created"] is True
    assert by_kind["offer"]["state"] == "accepted"
    assert by_kind["offer"]["via"] == "message"
    nudges = [each for each in found if each["kind"] == "nudge"]
    assert {each["nudge"] for each in nudges} == {"70", "90", "postscript"}
    assert {each["run_id"] for each in nudges} == {nudging["run_id"]}
    times = [each["at_ms"] for each in found]
    assert times == sorted(times, reverse=True)
    with Client(str(live.client.base_url)) as client:
        types = {type(each) for each in client.agents.evolution(agent)}
        assert types == {SoulVersionEntry, SkillVersionEntry, OfferEntry, NudgeEntry}
        assert len(list(client.agents.evolution(agent, kind="nudge"))) == 3

    told = invoke(live, "agents", "history", agent).stdout
    assert "offer accepted" in told
    assert f"{slug} version 1" in told
    assert "70 at step 7" in told
    shown = invoke(live, "agents", "history", agent, "--kind", "soul_version", "--diff").stdout
    assert "+Be warm." in shown
    assert "nudge" not in shown


def test_pages_follow_one_another(live: Live, agent: str) -> None:
    for text in ("One.", "Two.", "Three."):
        live.ok("PUT", f"/v1/agents/{agent}/files/SOUL.md", {"content": text})
    path = f"/v1/agents/{agent}/evolution?limit=2"

    first = live.ok("GET", path)
    second = live.ok("GET", f"{path}&cursor={first['next_cursor']}")

    versions = [each["version"] for each in (*first["items"], *second["items"])]
    assert versions == [3, 2, 1]
    assert second["next_cursor"] is None


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/v1/agents/nobody/evolution", 404, "agent_not_found"),
        ("/v1/agents/default/evolution?kind=soul", 400, "bad_request"),
        ("/v1/agents/default/evolution?cursor=WzFd", 400, "invalid_cursor"),
        ("/v1/agents/default/evolution?cursor=WyJhIiwxLCJiIiwiYyJd", 400, "invalid_cursor"),
        ("/v1/skills/no-such-skill/usage", 404, "skill_not_found"),
        ("/v1/skills/skill-creator/usage?days=0", 400, "bad_request"),
        ("/v1/skills/skill-creator/usage?days=99999999999999", 400, "bad_request"),
    ],
)
def test_what_cannot_be_answered_is_refused(live: Live, path: str, status: int, code: str) -> None:
    answer = live.client.get(path)

    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_an_agent_shows_its_switches_as_they_count(api: TestClient) -> None:
    body = {"agent_id": "a1", "agent_type": "predefined", "other_config": {"self_evolve": True}}
    view = api.post("/v1/agents", json=body).json()
    switches = {each["name"]: each for each in view["switches"]}

    assert switches["self_evolve"]["on"] is True
    assert switches["skill_evolve"]["on"] is False
    parts = [cost["part"] for each in view["switches"] for cost in each["costs"]]
    assert parts == [cost.part for _, cost in costs()]
    # What was shown may come back.
    assert api.put("/v1/agents/a1", json=view).json() == view
    turned = api.put("/v1/agents/a1", json={"agent_type": "open"}).json()
    assert not any(each["on"] for each in turned["switches"])
    assert turned["other_config"] == {"self_evolve": True}


def test_switches_are_set_and_shown_with_what_they_cost(live: Live, agent: str) -> None:
    tokens = {cost.part: cost.tokens for _, cost in costs()}
    invoke(live, "agents", "set", agent, "--no-skill-evolve", "--soul-review")

    told = invoke(live, "agents", "show", agent).stdout

    lines = {line.split()[0]: line for line in told.splitlines() if line}
    assert f"on   {tokens['self_section']} a request" in lines["self_evolve"]
    assert "off  0 tokens" in lines["skill_evolve"]
    always = tokens["skill_section"] + tokens["skill_manage"]
    assert f"skill section: {tokens['skill_section']} a request" in lines["skill_evolve"]
    assert f"; 90 % nudge: {tokens['nudge_90']} once a run" in lines["skill_evolve"]
    assert f"postscript: {tokens['postscript']} once a run" in lines["skill_nudge_interval"]
    assert "on" in lines["soul_review"]

    on = invoke(live, "agents", "set", agent, "--skill-evolve", "--nudge-interval", "0")
    once = tokens["nudge_70"] + tokens["nudge_90"]
    assert f"on   {always} a request, {once} once a run" in on.stdout
    view = json.loads(invoke(live, "agents", "show", agent, "--json").stdout)
    assert view["other_config"]["skill_nudge_interval"] == 0
    assert view["other_config"]["soul_review"] is True
    assert [each["on"] for each in view["switches"]] == [True, True, False, False, True]


def test_a_frozen_soul_and_an_open_agent_are_told_as_such(live: Live, agent: str) -> None:
    frozen = invoke(live, "agents", "set", agent, "--soul-frozen").stdout
    assert "self_evolve           on, but frozen  0 tokens" in frozen

    turned = invoke(live, "agents", "set", agent, "--type", "open").stdout
    assert "Open agents never evolve" in turned
    assert "costs" not in turned.lower()


def test_every_switch_is_cleared_at_once(live: Live, agent: str) -> None:
    mixed = ("--other-config", "null", "--self-evolve")
    invoke(live, "agents", "set", agent, *mixed, exit_code=2)

    cleared = invoke(live, "agents", "set", agent, "--other-config", "null", "--json").stdout

    assert json.loads(cleared)["other_config"] == {}


def test_a_page_says_which_differences_it_left_out(live: Live, agent: str) -> None:
    # Much of it stands in both, and nothing in the same order.
    texts = ("b\na\nc\n" * 1_300, "a\nb\n" * 2_000, "a\nb\n" * 2_000 + "Be warm.\n")
    for text in texts:
        live.ok("PUT", f"/v1/agents/{agent}/files/SOUL.md", {"content": text})

    found = entries(live, agent)

    assert [each["diff_omitted"] for each in found] == [False, True, True]
    assert "+Be warm." in found[0]["diff"]
    assert [each["diff"] for each in found[1:]] == [None, None]
    told = invoke(live, "agents", "history", agent, "--diff")
    assert "+Be warm." in told.stdout
    assert "2 differences were left out" in told.stderr
    assert f"agents history {agent} SOUL.md --diff" in told.stderr
    detail = live.ok("GET", f"/v1/agents/{agent}/files/SOUL.md/versions/2")
    assert detail["diff"].startswith("--- a/SOUL.md")


def test_old_texts_are_printed_and_compared(live: Live, agent: str) -> None:
    for text in ("Be warm.\n", "Be cold.\n"):
        invoke(live, "agents", "files", "set", agent, "SOUL.md", text)
    invoke(live, "agents", "files", "delete", agent, "SOUL.md")

    show = ("agents", "files", "show", agent, "SOUL.md", "--version")
    assert invoke(live, *show, "1").stdout == "Be warm.\n"
    gone = invoke(live, *show, "3")
    assert (gone.stdout, gone.stderr) == ("", "SOUL.md was deleted in version 3\n")
    invoke(live, *show, "4", exit_code=3)
    told = invoke(live, "agents", "history", agent, "SOUL.md", "--diff").stdout
    heads = [line.split(",")[0] for line in told.splitlines() if line.startswith("version")]
    assert heads == ["version 3", "version 2", "version 1"]
    assert "version 3, deleted, by local, " in told
    assert "-Be warm.\n+Be cold." in told
    document = invoke(live, "agents", "history", agent, "SOUL.md", "--diff", "--json").stdout
    found = json.loads(document)
    assert [each["version"] for each in found["items"]] == [3, 2, 1]
    assert (found["items"][0]["deleted"], found["next_cursor"]) == (True, None)
    never = invoke(live, "agents", "history", agent, "AGENTS.md", "--diff").stdout
    assert never == "This file was never written.\n"
    assert "version 3, deleted" in invoke(live, "agents", "history", agent).stdout
    with Client(str(live.client.base_url)) as client:
        assert client.agents.files.version(agent, "SOUL.md", 1).content == "Be warm.\n"


def test_a_deletion_is_not_brought_back_on_the_command_line(live: Live, agent: str) -> None:
    invoke(live, "agents", "files", "set", agent, "AGENTS.md", "Look twice.")
    invoke(live, "agents", "files", "delete", agent, "AGENTS.md")

    told = invoke(live, "agents", "restore", agent, "AGENTS.md", "2", exit_code=4).stderr

    assert "delete the file instead" in told
    assert "agents files delete AGENT NAME" in told


def test_files_are_written_listed_and_brought_back(live: Live, agent: str) -> None:
    for text in ("Be warm.", "Be cold."):
        invoke(live, "agents", "files", "set", agent, "SOUL.md", text)
    assert "SOUL.md  2" in invoke(live, "agents", "files", "list", agent).stdout
    versions = invoke(live, "agents", "history", agent, "SOUL.md").stdout.splitlines()
    assert [line.split()[0] for line in versions] == ["VERSION", "2", "1"]

    told = invoke(live, "agents", "restore", agent, "1").stderr

    assert f"SOUL.md of {agent} is at version 3" in told
    assert invoke(live, "agents", "files", "show", agent, "SOUL.md").stdout == "Be warm."
    invoke(live, "agents", "restore", agent, "SOUL.md", "2")
    assert invoke(live, "agents", "files", "show", agent, "SOUL.md").stdout == "Be cold."
    invoke(live, "agents", "restore", agent, "99", exit_code=3)
    invoke(live, "agents", "restore", agent, "SOUL.md", exit_code=2)
    invoke(live, "agents", "history", agent, "SOUL.md", "--kind", "offer", exit_code=2)


def test_the_copy_of_a_user_has_a_history_of_its_own(live: Live, agent: str) -> None:
    invoke(live, "agents", "files", "set", agent, "USER.md", "Likes tea.", "--user", "ann")
    invoke(live, "agents", "files", "set", agent, "USER.md", "Likes both.", "--user", "ann")

    invoke(live, "agents", "files", "restore", agent, "USER.md", "1", "--user", "ann")

    of_ann = ("--user", "ann")
    shown = invoke(live, "agents", "files", "show", agent, "USER.md", *of_ann).stdout
    assert shown == "Likes tea."
    assert "USER.md  3" in invoke(live, "agents", "files", "list", agent, *of_ann).stdout
    history = invoke(live, "agents", "files", "history", agent, "USER.md", *of_ann).stdout
    assert len(history.splitlines()) == 4
    second = ("agents", "files", "show", agent, "USER.md", "--version", "2", *of_ann)
    assert invoke(live, *second).stdout == "Likes both."
    compared = ("agents", "files", "history", agent, "USER.md", "--diff", *of_ann)
    assert "+Likes both." in invoke(live, *compared).stdout
    invoke(live, "agents", "files", "show", agent, "USER.md", exit_code=3)
    invoke(live, "agents", "files", "delete", agent, "USER.md", *of_ann)
    invoke(live, "agents", "files", "show", agent, "USER.md", *of_ann, exit_code=3)


def test_what_came_of_a_skill_is_told(live: Live, agent: str) -> None:
    slug = f"rain-{agent}"
    made = live.ok("POST", "/v1/skills", {"content": SKILL.format(name=slug)})
    live.ok("POST", f"/v1/skills/{slug}/grants/agent", {"agent_id": agent})
    tell(live, agent, "look", call("list_files", {"path": "."}))
    tell(live, agent, "use it", call("use_skill", {"name": slug}))

    view = live.ok("GET", f"/v1/skills/{slug}/usage?days=7")

    assert view["skill_id"] == made["id"]
    assert view["next_cursor"] is None
    [item] = view["items"]
    figures = {name: item[name] for name in ("offered", "used", "succeeded", "failed", "abandoned")}
    assert figures == {"offered": 2, "used": 1, "succeeded": 1, "failed": 0, "abandoned": 0}
    assert view["total"] == {name: item[name] for name in item if name != "version"}
    with Client(str(live.client.base_url)) as client:
        assert [each.version for each in client.skills.usage(slug)] == [1]
    told = invoke(live, "skills", "usage", slug).stdout.splitlines()
    assert told[1].split()[:6] == ["1", "2", "1", "1", "0", "0"]


def test_steps_that_are_repeated_wait_for_review(live: Live, agent: str) -> None:
    look, read = call("list_files", {"path": "."}), call("read_file", {"path": "none.md"})
    for _ in range(3):
        tell(live, agent, "the usual", look, read, look, read, look)

    live.daemon.services.agents.suggester.look_now()

    pending = live.ok("GET", "/v1/learning-candidates?kind=procedure")["items"]
    [found] = [each for each in pending if agent in each["content"]]
    assert found["capture_path"] == "usage"
    assert "tools list_files, read_file, list_files" in found["content"]
    shown = invoke(live, "candidates", "show", found["candidate_id"]).stdout
    assert "counted over the runs of a week" in shown
    assert live.daemon.services.agents.suggester.look_now() == 0

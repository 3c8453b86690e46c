"""Unlearning what came through rollouts, schedules, sidechains, channels, project tasks and flows."""

import asyncio
import json
from base64 import b64encode
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.contract.test_unlearn import Garden, found_in, unlearned
from tests.support.api_in_process import serving
from tests.support.playbook_factories import manifest
from tests.support.run_harness import make_settings
from understudy.channels.bridge_signatures import signed_headers
from understudy.settings import Settings
from understudy.testing.fake_model import FakeModel

FEW = 3


@pytest.fixture
def settings(tmp_path: Path, fake: FakeModel, prepared_url: str) -> Settings:
    return make_settings(tmp_path, fake.url, "a", database_url=prepared_url, debug_level="full")


async def ended(garden: Garden, run_id: str) -> None:
    for _ in range(1_000):
        run = await garden.call("runs.get", run_id=run_id)
        if run["status"] in {"completed", "failed", "cancelled"}:
            return
        await asyncio.sleep(0.02)
    raise AssertionError("the run did not end")


def line(garden: Garden) -> str:
    """One planted string in a sentence."""
    return garden.plant(1)


async def rollout(garden: Garden) -> None:
    """A promoted procedure, held for a reason, edited, and tried with an expectation."""
    call, name = garden.call, f"tending-{garden.half.lower()}"
    said = {"content": f"First {line(garden)}.", "kind": "procedure"}
    made = await call("learnings.create", body=said)
    for _ in range(2):
        body = {"skill_name": name, "instructions": garden.plant(FEW), "description": line(garden)}
        await call("rollouts.promote", learning_id=made["learning_id"], body=body)
    trial = await call(
        "rollouts.trial",
        skill_name=name,
        body={"expected_output_contains": line(garden), "params": {"what": line(garden)}},
    )
    await ended(garden, trial["run_id"])
    for _ in range(1_000):
        seen = await call("rollouts.get_trial", skill_name=name, trial_id=trial["trial_id"])
        if seen["state"] != "pending":
            break
        await asyncio.sleep(0.02)
    await call("rollouts.hold", skill_name=name, body={"reason": line(garden)})
    garden.target("learning", made["learning_id"])


async def schedule(garden: Garden) -> None:
    """A schedule that has fired, in a session that goes with it."""
    call, session = garden.call, f"clock-{garden.half.lower()}"
    await call("sessions.create", body={"session_id": session})
    body = {
        "name": line(garden),
        "target_session_id": session,
        "cadence": {"type": "interval", "every_seconds": 3600},
        "request": {"content": garden.plant(FEW)},
    }
    made = await call("schedules.create", body=body)
    await call("schedules.trigger", schedule_id=made["schedule_id"])
    for _ in range(1_000):
        runs = await call.items("runs.list", session_id=session)
        if runs and runs[0]["status"] == "completed":
            break
        await asyncio.sleep(0.02)
    garden.target("session", session)


async def sidechain(garden: Garden) -> None:
    """A task that an agent gives to another one, and its answer."""
    session = f"above-{garden.half.lower()}"
    await garden.call("sessions.create", body={"session_id": session})
    task = f"{line(garden)}\nplan: " + json.dumps({"tools": [], "final": garden.plant(FEW)})
    spawn = ["spawn_sidechain", {"task": task, "wait": True}]
    plan = {"tools": [[spawn]], "final": line(garden)}
    run_id = await garden.run(session, f"plan: {json.dumps(plan)}")
    garden.target("run", run_id)


async def channel(garden: Garden) -> None:
    """What people, an outside person and a stimulus say in a channel, and what an agent answers."""
    call, room = garden.call, f"room-{garden.half.lower()}"
    session = f"member-{garden.half.lower()}"
    await call("sessions.create", body={"session_id": session})
    members = [
        {"member_id": session, "session_id": session},
        {"member_id": "alice", "member_kind": "human_actor", "actor_id": "alice"},
    ]
    titled = line(garden)
    await call(
        "channels.create",
        body={"channel_id": room, "title": titled, "purpose": titled, "members": members},
    )
    bridge: dict[str, Any] = {"bridge_id": f"b-{garden.half.lower()}", "connector": "webhook"}
    bridge["identities"] = {"U1": "alice"}
    made = await call("channels.create_bridge", channel_id=room, body=bridge)
    posted, heard, stirred = (line(garden) for _ in range(3))
    answer = line(garden)
    plan = json.dumps({"tools": [[["emit_output", {"content": answer}]]], "final": "said"})
    await call(
        "channels.post",
        channel_id=room,
        body={"content": f"{posted} @{session}\nplan: {plan}", "addressed_member_ids": [session]},
    )
    await spoken(garden, room)
    document = json.dumps({"id": "1", "text": heard, "author": "U1"}).encode()
    now = garden.call.services.resources.clock.now_ms()
    headers = signed_headers(made["secret"], "d", now, document)
    await asyncio.to_thread(
        garden.call.services.channels.bridges.hear,
        bridge["bridge_id"],
        {name.lower(): value for name, value in headers.items()},
        document,
    )
    stimulus = {"kind": "agent_idea", "content": stirred, "available_at_ms": now + 86_400_000}
    await call("channels.create_stimulus", channel_id=room, body=stimulus)
    await quiet(garden, room)
    garden.target("session", session)
    for text in (titled, posted, answer, heard, stirred):
        garden.target("user_text", text)


async def spoken(garden: Garden, room: str) -> None:
    """Wait until an agent has answered."""
    for _ in range(1_000):
        said = await garden.call.items("channels.messages", channel_id=room)
        if any("sender_session_id" in it for it in said):
            return
        await asyncio.sleep(0.02)
    raise AssertionError("nobody has answered")


async def quiet(garden: Garden, room: str) -> None:
    """Wait until nobody has the floor."""
    for _ in range(1_000):
        if not await garden.call.items("channels.leases", channel_id=room):
            return
        await asyncio.sleep(0.02)
    raise AssertionError("somebody still speaks")


async def project_task(garden: Garden) -> None:
    """A task on the board of a project, started, with what its run says."""
    call, session = garden.call, f"board-{garden.half.lower()}"
    await call("sessions.create", body={"session_id": session})
    named, titled, told = (line(garden) for _ in range(3))
    project = await call("projects.create", body={"display_name": named})
    where = {"project_id": project["project_id"]}
    member = {"member_id": session, "session_id": session}
    await call("projects.add_member", **where, body=member)
    assignment = {"assignee_session_id": session}
    body = {"title": titled, "description": told, "assignment": assignment}
    task = await call("project_tasks.create", **where, body=body)
    started = await call(
        "project_tasks.start", **where, project_task_id=task["project_task_id"], body={}
    )
    await ended(garden, started["run_id"])
    for text in (named, titled, told):
        garden.target("user_text", text)


async def tasks_of_a_run(garden: Garden) -> None:
    """Tasks that an agent writes down: for its session, and on a board where a person starts it."""
    call, session, other = garden.call, *(f"{it}-{garden.half.lower()}" for it in ("plan", "do"))
    for it in (session, other):
        await call("sessions.create", body={"session_id": it})
    project = await call("projects.create", body={"display_name": "A garden"})
    where = {"project_id": project["project_id"]}
    for it in (session, other):
        await call("projects.add_member", **where, body={"member_id": it, "session_id": it})
    mine = {"action": "create", "title": line(garden), "description": garden.plant(FEW)}
    shared = {"action": "create", "title": line(garden), "description": garden.plant(FEW)}
    plan = {"tools": [[["tasks", mine]], [["project_tasks", shared]]], "final": line(garden)}
    run_id = await garden.run(session, f"plan: {json.dumps(plan)}")
    [task] = await call.items("tasks.list", session_id=session)
    renamed = {"title": line(garden)}
    await call("tasks.update", session_id=session, task_id=task["task_id"], body=renamed)
    [wanted] = await call.items("project_tasks.list", **where)
    assert wanted["created_by_run_id"] == run_id
    after = {"title": "Look at it", "blocked_by": [wanted["project_task_id"]]}
    await call("project_tasks.create", **where, body=after)
    one = {**where, "project_task_id": wanted["project_task_id"]}
    await call("project_tasks.update", **one, body={"assignment": {"assignee_session_id": other}})
    started = await call("project_tasks.start", **one, body={})
    await ended(garden, started["run_id"])
    garden.target("run", run_id)
    garden.checks.append(partial(left_on_the_board, garden, where["project_id"]))


async def left_on_the_board(garden: Garden, project_id: str) -> None:
    """What waited for the erased task does not wait for ever."""
    [task] = await garden.call.items("project_tasks.list", project_id=project_id)
    assert (task["title"], task["blocked_by"]) == ("Look at it", [])


async def flow(garden: Garden) -> None:
    """A playbook with words of people, and a flow of it."""
    call, session = garden.call, f"steps-{garden.half.lower()}"
    await call("sessions.create", body={"session_id": session})
    titled, aimed, asked, attested = (line(garden) for _ in range(4))
    playbook_id = f"pb-{garden.half.lower()}"
    document = manifest(playbook_id=playbook_id, title=titled, objective=aimed)
    await call("playbooks.create", body={"manifest": document})
    found = (await call("playbooks.get", playbook_id=playbook_id))["selected_version"]
    ref = {"version": found["version"], "digest": found["digest"]}
    evidence = [{"kind": "manual", "id": "x", "description": attested}]
    await call(
        "playbooks.publish", playbook_id=playbook_id, body={**ref, "evidence_refs": evidence}
    )
    begun = await call(
        "flows.start",
        body={
            "playbook_ref": {"playbook_id": playbook_id, **ref},
            "session_id": session,
            "request": {"content": asked},
        },
    )
    await ended(garden, begun["run_id"])
    for text in (titled, aimed, attested):
        garden.target("user_text", text)
    garden.target("run", begun["run_id"])


async def background(garden: Garden) -> None:
    """A command in the background: what it is, what it prints, who is told, and the letter."""
    call, session = garden.call, f"behind-{garden.half.lower()}"
    await call("permissions.set", body={"rules": [{"tool": "shell", "decision": "allow"}]})
    await call("sessions.create", body={"session_id": session})
    wanted = {"command": f"echo '{garden.plant(FEW)}'", "background": True}
    plan = {"tools": [[["shell", wanted]]], "final": line(garden)}
    targets = [{"plugin": "local", "address": line(garden)}]
    text = f"{line(garden)}\nplan: {json.dumps(plan)}"
    run_id = await garden.run(session, text, reply_targets=targets)
    for _ in range(1_000):
        runs = await call.items("runs.list", session_id=session)
        if len(runs) > 1 and all(each["status"] == "completed" for each in runs):
            break
        await asyncio.sleep(0.02)
    [task] = await call.items("background_tasks.list", session_id=session)
    assert (task["status"], "message_id" in task) == ("completed", True)
    garden.target("run", run_id)


async def session_control(garden: Garden) -> None:
    """What a session is steered by: a key, a file, words for a skill, an address, a reason."""
    call, half = garden.call, garden.half.lower()
    session, name = f"steered-{half}", f"steering-{half}"
    await call("sessions.create", body={"session_id": session})
    targets = {"reply_targets": [{"plugin": "local", "address": line(garden)}]}
    await call("sessions.set_reply_targets", session_id=session, body=targets)
    content = f"---\nname: {name}\ndescription: It steers.\n---\nSteer by $ARGUMENTS.\n"
    await call("skills.create", body={"content": content})
    wanted = {"name": name, "args": line(garden)}
    await call("sessions.activate_skill", session_id=session, body=wanted)
    said = b64encode(line(garden).encode()).decode()
    file = {"file_name": f"notes-{half}.txt", "content_base64": said}
    await garden.run(session, line(garden), binding_keys=[line(garden)], attachments=[file])
    await call("sessions.end", session_id=session, body={"reason": line(garden)})
    garden.target("session", session)


DOORS: dict[str, Callable[[Garden], Awaitable[None]]] = {
    "a rollout and its trial": rollout,
    "a schedule": schedule,
    "a sidechain": sidechain,
    "a channel, a bridge and a stimulus": channel,
    "a project task": project_task,
    "tasks that an agent writes down": tasks_of_a_run,
    "a playbook and a flow": flow,
    "a background task": background,
    "the control of a session": session_control,
}


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_what_came_through_a_door_is_erased_and_its_twin_is_intact(
    settings: Settings, door: Callable[[Garden], Awaitable[Any]]
) -> None:
    async def scenario() -> None:
        async with serving(settings) as call:
            amber, birch = (Garden(call, settings, half) for half in ("Amber", "Birch"))
            for garden in (amber, birch):
                await door(garden)
            assert found_in(settings, amber.strings) == set(amber.strings)
            for target in amber.targets:
                await unlearned(call, target)
            for check in amber.checks:
                await check()
            assert found_in(settings, amber.strings) == set()
            assert found_in(settings, birch.strings) == set(birch.strings)
            assert (await call("audit.verify"))["ok"]

    asyncio.run(scenario())

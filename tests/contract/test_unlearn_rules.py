"""What unlearning does to each thing: out of use or gone, and what stays."""

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.contract.test_unlearn import Garden, unlearned
from tests.support import prepared_home
from tests.support.api_in_process import Caller, serving
from tests.support.daemon_in_process import start_once
from tests.support.run_harness import make_settings
from understudy.api.in_process import OperationRefused
from understudy.settings import Settings
from understudy.testing.fake_model import FakeModel

SECRET = "The cellar of Mirabelle is below the third stair."


@pytest.fixture
def settings(tmp_path: Path, fake: FakeModel) -> Settings:
    prepared_home.fill(tmp_path, start_once)
    url = f"sqlite:///{tmp_path / prepared_home.DATABASE}"
    return make_settings(tmp_path, fake.url, "a", database_url=url, debug_level="full")


def in_daemon(settings: Settings, scenario: Any) -> None:
    async def run() -> None:
        async with serving(settings) as call:
            await call("sessions.create", body={"session_id": "s1"})
            await scenario(call, Garden(call, settings, "Amber"))

    asyncio.run(run())


async def texts_of(call: Caller) -> list[str]:
    return [json.dumps(it["data"]) for it in await call.items("sessions.events", session_id="s1")]


def test_an_erased_run_leaves_tombstones_and_later_runs_lose_their_copies(
    settings: Settings,
) -> None:
    async def scenario(call: Caller, garden: Garden) -> None:
        first = await garden.run("s1", SECRET)
        plan = {"final": f"You said: {SECRET} Shall I go on?"}
        second = await garden.run("s1", f"Say it again. plan: {json.dumps(plan)}")
        before = await call.items("sessions.events", session_id="s1")

        done = await unlearned(call, {"kind": "run", "id": first})

        after = await call.items("sessions.events", session_id="s1")
        assert [it["offset"] for it in after] == [it["offset"] for it in before]
        erased = [it for it in after if it["kind"] == "erased"]
        assert {it["data"]["unlearn_id"] for it in erased} == {done["unlearn_id"]}
        assert done["receipt"]["tombstones"] == len(erased) > 0
        assert done["receipt"]["counts"]["later_run"] == 1
        assert "Mirabelle" not in json.dumps(after)
        assert "Shall I go on?" in json.dumps(after)
        with pytest.raises(OperationRefused, match=first):
            await call("runs.get", run_id=first)
        kept = await call("runs.get", run_id=second)
        assert kept["outputs"][-1]["text"] == "You said: [erased] Shall I go on?"

    in_daemon(settings, scenario)


def test_a_revoked_run_is_kept_and_no_later_prompt_has_it(
    settings: Settings, fake: FakeModel
) -> None:
    async def scenario(call: Caller, garden: Garden) -> None:
        first = await garden.run("s1", SECRET)
        done = await unlearned(call, {"kind": "run", "id": first}, "revoke")
        await garden.run("s1", "What did I say before?")
        assert "Mirabelle" not in json.dumps([str(turn) for turn in fake.requests[-1].turns])
        assert SECRET in "".join(await texts_of(call))
        assert (await call("runs.get", run_id=first))["status"] == "completed"
        receipt = {"receipt": done["receipt"]}
        assert (await call("unlearn.verify", body=receipt))["ok"]

    in_daemon(settings, scenario)


def test_a_run_that_has_not_ended_is_named_and_nothing_is_changed(
    settings: Settings, fake: FakeModel
) -> None:
    async def scenario(call: Caller, garden: Garden) -> None:
        plan = {"final": "done", "delay_s": 5}
        started = await call(
            "runs.submit", session_id="s1", body={"content": f"Wait. plan: {json.dumps(plan)}"}
        )
        body = {"target": {"kind": "session", "id": "s1"}, "mode": "erase"}
        with pytest.raises(OperationRefused, match=started["run_id"]):
            await call("unlearn.start", body=body)
        assert await call.items("unlearn.list") == []
        await call("runs.cancel", run_id=started["run_id"])

    in_daemon(settings, scenario)


def test_a_skill_falls_back_to_its_newest_version_that_stays(settings: Settings) -> None:
    async def scenario(call: Caller, _: Garden) -> None:
        manifest = (
            "---\nname: stairs\ndescription: How to climb stairs.\n---\nOne step at a time.\n"
        )
        await call("skills.create", body={"content": manifest})
        await call("skills.create", body={"content": manifest + SECRET + "\n"})
        preview = await call(
            "unlearn.preview", body={"target": {"kind": "skill_version", "id": "stairs@2"}}
        )
        assert preview["counts"] == {"skill_version": 1}
        await unlearned(call, {"kind": "skill_version", "id": "stairs@2"})
        skill = await call("skills.get", skill_id="stairs")
        assert skill["version"] == 3
        with pytest.raises(OperationRefused, match="erased"):
            await call("skills.restore", skill_id="stairs", body={"version": 2})
        assert (await call("audit.verify"))["ok"]

    in_daemon(settings, scenario)


def test_a_receipt_that_was_changed_is_refused_and_a_known_text_is_looked_for(
    settings: Settings,
) -> None:
    async def scenario(call: Caller, _: Garden) -> None:
        said = {"content": SECRET, "kind": "fact"}
        learning = await call("learnings.create", body=said)
        target = {"kind": "learning", "id": learning["learning_id"]}
        receipt = (await unlearned(call, target))["receipt"]
        forged = {**receipt, "actor": "mallory"}
        with pytest.raises(OperationRefused, match="receipt"):
            await call("unlearn.verify", body={"receipt": forged})
        assert SECRET not in json.dumps(receipt)
        again = await call("learnings.create", body=said)
        found = await call("unlearn.verify", body={"receipt": receipt, "text": SECRET})
        assert not found["ok"]
        assert again["learning_id"] in {it["id"] for it in found["found"]}

    in_daemon(settings, scenario)


def test_a_known_text_is_looked_for_wherever_people_and_agents_write(settings: Settings) -> None:
    async def scenario(call: Caller, garden: Garden) -> None:
        run_id = await garden.run("s1", "Something else that has to go.")
        receipt = (await unlearned(call, {"kind": "run", "id": run_id}))["receipt"]
        persona = {"persona_id": "p1", "display_name": "P", "soul": SECRET}
        await call("personas.create", body=persona)
        project = {"project_id": "board", "display_name": "Board", "description": SECRET}
        await call("projects.create", body=project)
        task = {"project_task_id": "t1", "title": "Look", "description": SECRET}
        await call("project_tasks.create", project_id="board", body=task)
        await call(
            "channels.create", body={"channel_id": "room", "title": "Room", "purpose": SECRET}
        )
        manifest = f"---\nname: stairs\ndescription: {SECRET}\n---\nOne step at a time.\n"
        skill = await call("skills.create", body={"content": manifest})
        places = {
            *("personas/p1", "projects/board", "project_tasks/board/t1", "channels/room"),
            f"skills/{skill['id']}",
        }

        found = await call("unlearn.verify", body={"receipt": receipt, "text": SECRET})

        assert places <= {it["id"] for it in found["found"] if it["resource"] == "record"}
        await unlearned(call, {"kind": "user_text", "id": SECRET})
        clean = await call("unlearn.verify", body={"receipt": receipt, "text": SECRET})
        assert clean == {"ok": True, "found": []}

    in_daemon(settings, scenario)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ({"kind": "run", "id": "run_nowhere"}, "run_nowhere"),
        ({"kind": "user_text", "id": "completed"}, "lower-case"),
        ({"kind": "user_text", "id": "Bo"}, "characters"),
        ({"kind": "skill_version", "id": "stairs"}, "stairs@3|deploy@3"),
    ],
)
def test_a_target_that_names_nothing_is_refused_in_words(
    settings: Settings, target: dict[str, str], said: str
) -> None:
    async def scenario(call: Caller, _: Garden) -> None:
        with pytest.raises(OperationRefused, match=said):
            await call("unlearn.preview", body={"target": target})

    in_daemon(settings, scenario)


def test_the_first_erasure_in_an_older_database_leaves_nothing_in_its_free_pages(
    settings: Settings,
) -> None:
    path = Path(sa.make_url(settings.database_url).database or "")
    with closing(sqlite3.connect(path)) as old:
        assert old.execute("PRAGMA user_version").fetchone() == (1,)
        old.execute("PRAGMA secure_delete=OFF")
        old.execute("CREATE TABLE gone (said TEXT)")
        old.executemany("INSERT INTO gone VALUES (?)", [(f"{SECRET} {it}",) for it in range(500)])
        old.commit()
        old.execute("DROP TABLE gone")
        old.execute("PRAGMA user_version=0")
        old.commit()
        old.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert b"Mirabelle" in path.read_bytes()

    async def scenario(_: Caller, garden: Garden) -> None:
        run_id = await garden.run("s1", "Something else that has to go.")
        await unlearned(garden.call, {"kind": "run", "id": run_id})

    in_daemon(settings, scenario)

    assert all(b"Mirabelle" not in it.read_bytes() for it in path.parent.glob(f"{path.name}*"))
    with closing(sqlite3.connect(path)) as new:
        assert new.execute("PRAGMA user_version").fetchone() == (1,)


def test_an_unlearning_falls_back_to_an_earlier_version_of_a_skill_also_where_two_people_are_asked(
    settings: Settings,
) -> None:
    async def scenario(call: Caller, _: Garden) -> None:
        content = "---\nname: vaults\ndescription: How to open vaults.\n---\nKnock first.\n"
        made = await call("skills.create", body={"content": content})
        patch = {"find": "Knock first.", "replace": SECRET}
        await call("skills.patch", skill_id=made["id"], body=patch)
        await call("skills.update", skill_id=made["id"], body={"visibility": "public"})
        setting = {"require_two_approvers": ["skill_activation"]}
        await call("runtime.change", body=setting)

        await unlearned(call, {"kind": "skill_version", "id": "vaults@2"})

        told = await call("skills.get", skill_id=made["id"])
        assert told["instructions"].strip() == "Knock first."

    in_daemon(settings, scenario)

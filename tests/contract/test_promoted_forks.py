"""A promoted skill is carried out apart: in a folder of its own, by an agent of its own."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.model_scripts import play
from tests.support.skill_runs import ANN, LEARNER, SkillRuns, author, make_skill_runs
from understudy.agents.built_in import VERIFICATION_AGENT_ID
from understudy.agents.service import AgentService
from understudy.rollout.worktrees import Worktrees
from understudy.runs.submission import Submission
from understudy.sessions.journal import EventKind, NewEvent
from understudy.sessions.model import Session
from understudy.settings import Settings
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.catalogue import Catalogue, LoadedSkill
from understudy.skills.catalogue_entry import CatalogueEntry
from understudy.skills.runtime_settings import RUNTIME_FILE
from understudy.storage.unit import Unit
from understudy.testing.answers import Answer, FakeCall, SeenRequest, call
from understudy.testing.fake_model import FakeModel
from understudy.tools.base import WORKTREES

pytestmark = pytest.mark.one_database

NAME = "learning-sched"
FINGERPRINT = "f" * 64
MANIFEST = f"---\nname: {NAME}\ndescription: Looks after the scheduler\n---\nReply.\n"
RUNTIME = f"context: fork\nagent_profile: {VERIFICATION_AGENT_ID}\n"


class Promoted(Catalogue):
    """Takes every skill for one that was promoted."""

    def load(self, unit: Unit, one: CatalogueEntry) -> LoadedSkill:
        """As it is, with a fingerprint."""
        return replace(super().load(unit, one), fingerprint=FINGERPRINT)


@pytest.fixture
async def skilled(
    database: UnitsOnDatabase, settings: Settings, fake: FakeModel
) -> AsyncIterator[SkillRuns]:
    skilled = make_skill_runs(
        database.units,
        database.queued,
        settings,
        fake,
        make_catalogue=Promoted,
        worktrees=Worktrees(settings.workspace),
    )
    AgentService(database.units, skilled.harness.clock).ensure_built_in()
    yield skilled
    await skilled.harness.providers.close()


def keep(skilled: SkillRuns, more: str = "") -> None:
    """A skill that is carried out by the agent for it."""
    files = {"SKILL.md": MANIFEST.encode(), RUNTIME_FILE: (RUNTIME + more).encode()}
    skilled.service.keep(author(ANN), Bundle(files), action="skills.upload")


def use(call_id: str = "call_abc") -> Answer:
    return Answer(calls=(FakeCall(name="use_skill", arguments={"name": NAME}, call_id=call_id),))


async def spawned(skilled: SkillRuns, *lines: Any, child: Any = ("all done",)) -> dict[str, Any]:
    """What a run that uses the skill was told of the one that carried it out."""
    *_, told = await skilled.told(*(lines or (use(),)), child=child)
    spawn: dict[str, Any] = json.loads(told)["spawn"]
    return spawn


def session(skilled: SkillRuns, session_id: str) -> Session:
    with skilled.units.read() as unit:
        found = unit.sessions.get(session_id)
    assert found is not None
    return found


async def test_it_works_in_a_folder_of_its_own_and_the_run_says_which_definition_it_was(
    skilled: SkillRuns,
) -> None:
    keep(skilled)

    spawn = await spawned(skilled)

    child = session(skilled, spawn["session_id"])
    assert (child.agent_id, child.parent_session_id) == (VERIFICATION_AGENT_ID, LEARNER)
    assert child.workdir == f"{WORKTREES}/{NAME}/call_abc"
    run = skilled.harness.stored(spawn["launch_run_id"])
    assert run.skill_fingerprint == FINGERPRINT
    assert (spawn["status"], spawn["final_output"]) == ("completed", "all done")
    snapshot = spawn["snapshot"]
    assert snapshot["workdir"] == child.workdir
    assert snapshot["skill_fingerprint"] == FINGERPRINT
    assert snapshot["usage"]["model_calls"] == 1


async def test_what_it_writes_stays_in_the_folder(skilled: SkillRuns) -> None:
    keep(skilled)
    workspace = skilled.harness.settings.workspace
    (workspace / "mine.txt").write_text("of the workspace")

    spawn = await spawned(
        skilled,
        child=(
            call("write_file", {"path": "a.txt", "content": "x"}),
            call("read_file", {"path": "mine.txt"}),
            call("read_file", {"path": "../../../mine.txt"}),
            "end",
        ),
    )

    written, *unread = skilled.harness.results(spawn["launch_run_id"])
    assert written["status"] == "ok"
    assert [each["status"] for each in unread] == ["error", "error"]
    assert (workspace / WORKTREES / NAME / "call_abc" / "a.txt").read_text() == "x"
    assert not (workspace / "a.txt").exists()


async def test_a_folder_that_becomes_a_link_is_used_no_more(skilled: SkillRuns) -> None:
    keep(skilled)
    workspace = skilled.harness.settings.workspace

    def swapping(_: SeenRequest) -> Answer:
        folder = workspace / WORKTREES / NAME / "call_abc"
        folder.rmdir()
        folder.symlink_to(workspace)
        return call("write_file", {"path": "a.txt", "content": "x"})

    spawn = await spawned(skilled, child=(swapping, "end"))

    [result] = skilled.harness.results(spawn["launch_run_id"])
    assert (result["status"], "link" in result["content"]) == ("error", True)
    assert spawn["status"] == "completed"
    assert not (workspace / "a.txt").exists()


@pytest.mark.every_database
async def test_the_same_call_id_in_two_runs_leads_to_two_folders(skilled: SkillRuns) -> None:
    keep(skilled)

    first, second = await spawned(skilled), await spawned(skilled)

    assert first["snapshot"]["workdir"] == f"{WORKTREES}/{NAME}/call_abc"
    assert second["snapshot"]["workdir"] == f"{WORKTREES}/{NAME}/call_abc-2"


async def test_it_changes_no_skills(skilled: SkillRuns) -> None:
    keep(skilled)

    spawn = await spawned(skilled, child=(call("publish_skill", {"path": "."}), "end"))

    [result] = skilled.harness.results(spawn["launch_run_id"])
    assert result["status"] == "denied"


async def test_what_was_put_out_last_is_the_result_whatever_was_said_last(
    skilled: SkillRuns,
) -> None:
    keep(skilled)
    skilled.fake.rule = play({"go": [use()], "Carry out": ["the last message"]})
    run_id = skilled.harness.runs.submit(ANN, LEARNER, Submission(content="go")).run.run_id
    await skilled.harness.executor.execute(skilled.queued.pop(0)[0])
    [(launched, child)] = skilled.queued
    await skilled.harness.executor.execute(skilled.queued.pop(0)[0])
    output = NewEvent(kind=EventKind.OUTPUT, run_id=launched, data={"text": "emitted"})
    with skilled.units.write() as unit:
        unit.journal.append(child, [output], at_ms=skilled.harness.clock.now_ms())

    await skilled.harness.executor.execute(skilled.queued.pop(0)[0])

    [result] = skilled.harness.results(run_id)
    assert json.loads(result["content"])["spawn"]["final_output"] == "emitted"


async def test_a_model_that_does_not_answer_is_replaced_by_the_other(skilled: SkillRuns) -> None:
    keep(skilled, "model: model-x\nfallback_model: model-y\n")

    def answer(seen: SeenRequest) -> Answer | str:
        return Answer(status=503) if seen.model == "model-x" else "all done"

    spawn = await spawned(skilled, child=(answer,))

    assert (spawn["status"], spawn["final_output"]) == ("completed", "all done")
    assert spawn["snapshot"]["model"] == "model-y"
    asked = [each.model for each in skilled.fake.requests if "Carry out" in each.last_user]
    assert asked == ["model-x", "model-y"]


async def test_a_skill_that_cannot_begin_leaves_no_folder(skilled: SkillRuns) -> None:
    keep(skilled, "provider: nowhere\n")

    told = await skilled.told(use())

    assert told == ["there is no route 'nowhere'"]
    assert [*(skilled.harness.settings.workspace / WORKTREES / NAME).iterdir()] == []


@pytest.mark.every_database
async def test_without_a_folder_it_does_not_begin(skilled: SkillRuns) -> None:
    keep(skilled)
    (skilled.harness.settings.workspace / WORKTREES).symlink_to(skilled.harness.settings.home)

    told = await skilled.told(use())

    assert told == [f"'{WORKTREES}': is or passes through a symbolic link"]
    with skilled.units.read() as unit:
        assert unit.sidechains.below(LEARNER) == ()


async def test_nobody_who_carries_it_out_uses_it_again(skilled: SkillRuns) -> None:
    keep(skilled)
    again = [
        call("use_skill", {"name": name})
        for name in (NAME, NAME.upper(), skilled_ref(skilled), f"promoted:{NAME}")
    ]

    spawn = await spawned(skilled, child=(*again, call("skill_search", {"query": NAME}), "end"))

    *results, found = skilled.harness.results(spawn["launch_run_id"])
    assert [each["status"] for each in results] == ["error"] * 4
    assert all("there is no skill" in each["content"] for each in results)
    assert NAME not in found["content"]
    assert NAME not in skilled.fake.requests[1].system
    assert session(skilled, spawn["session_id"]).capability_scope == {"skill_deny": [NAME]}


@pytest.mark.every_database
async def test_what_it_has_others_carry_out_does_not_use_it_either(skilled: SkillRuns) -> None:
    keep(skilled)
    other = {
        "SKILL.md": b"---\nname: other\ndescription: Another\n---\nAct as the other.\n",
        RUNTIME_FILE: b"context: fork\n",
    }
    skilled.service.keep(author(ANN), Bundle(other), action="skills.upload")

    def act(seen: SeenRequest) -> Answer:
        is_other = "Act as the other." in seen.last_user
        return call("use_skill", {"name": NAME if is_other else "other"})

    spawn = await spawned(skilled, child=(act, "end"))

    with skilled.units.read() as unit:
        [below] = unit.sidechains.spawned_by(spawn["launch_run_id"])
        made = unit.sidechains.spawn_of(below)
    assert made is not None
    [result] = skilled.harness.results(made.first_run_id)
    assert "there is no skill" in result["content"]


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ("", "ok"),
        ("allowed_tools: [read_file]\n", "denied"),
        ("allowed_tools: [read_file, use_skill]\n", "ok"),
        ("blocked_tools: [use_skill]\n", "denied"),
    ],
)
async def test_it_uses_other_skills_only_if_its_tools_say_so(
    skilled: SkillRuns, more: str, status: str
) -> None:
    keep(skilled, more)
    other = {"SKILL.md": b"---\nname: other\ndescription: Another\n---\nDo something.\n"}
    skilled.service.keep(author(ANN), Bundle(other), action="skills.upload")
    # What was promoted runs beside; this one would too, as all are taken for promoted here.
    spawn = await spawned(skilled, child=(call("use_skill", {"name": "other"}), "end"))

    [result] = skilled.harness.results(spawn["launch_run_id"])
    assert result["status"] == status
    is_told = "use_skill" in skilled.tools_offered(1)
    assert is_told is (status == "ok")


async def test_who_carries_it_out_is_told_only_of_its_tools(skilled: SkillRuns) -> None:
    keep(
        skilled, "allowed_tools: [read_file, list_files, write_file]\nblocked_tools: [write_file]\n"
    )

    await spawned(skilled)

    told = skilled.tools_offered(1)
    assert {"read_file", "list_files"} <= {*told}
    denied = {"write_file", "use_skill", "skill_manage", "publish_skill", "read_artifact"}
    assert not denied & {*told}


def skilled_ref(skilled: SkillRuns) -> str:
    """The skill by its id."""
    skill = skilled.skill(NAME)
    assert skill is not None
    return skill.skill_id

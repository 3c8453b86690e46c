"""The sample workspace on both databases: what loading makes, and what removing leaves."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.api_in_process import Caller, serving
from tests.support.run_harness import make_settings
from understudy.api.in_process import OperationRefused
from understudy.sample.story import ROUTES
from understudy.settings import Settings
from understudy.testing.fake_model import FakeModel

# What stays: the audit, the digests of deleted skills, and what belongs to the daemon itself.
STAYS = {
    "audit",
    "canary_secret",
    "skill_bundles",
    "skill_versions",
    "skills",
    "suggestion_looks",
}


@pytest.fixture
def settings(tmp_path: Path, fake: FakeModel, prepared_url: str) -> Settings:
    return make_settings(tmp_path, fake.url, "a", database_url=prepared_url)


def test_the_sample_has_something_of_every_sort_and_is_removed_without_a_trace(
    settings: Settings, fake: FakeModel
) -> None:
    async def scenario() -> None:
        async with serving(settings) as call:
            await call("agents.create", body={"agent_id": "mine", "agent_type": "open"})
            await call("sessions.create", body={"session_id": "own", "agent_id": "mine"})
            said = {"content": "Our office is in Kiel.", "kind": "fact"}
            await call("learnings.create", body=said)
            before = call.rows()

            loaded = await call("sample.load")
            again = await call("sample.load")

            assert loaded == again == await call("sample.read")
            assert loaded["state"] == "loaded"
            await _look_around(call)

            removed = await call("sample.remove")
            after = call.rows()

            assert removed == {**dict.fromkeys(loaded, 0), "state": "absent"}
            changed = {name for name in before if before[name] != after[name]}
            assert changed <= STAYS
            assert await call("sample.remove") == removed
            assert await call.items("skills.trash") == []
            files = (settings.home / "skills-store").rglob("SKILL.md")
            assert not [path for path in files if "sample-" in str(path.relative_to(settings.home))]
            assert (await call("sample.load"))["state"] == "loaded"
            assert (await call("sample.remove"))["state"] == "absent"
            (kept,) = await call.items("learnings.list")
            assert kept["content"] == said["content"]

    asyncio.run(scenario())
    assert fake.requests == []


async def _look_around(call: Caller) -> None:
    waiting = await call.items("learning_candidates.list", waiting="true")
    details = [
        await call("learning_candidates.get", candidate_id=it["candidate_id"]) for it in waiting
    ]
    assert {it["kind"] for it in details} == {"fact", "preference", "decision", "procedure"}
    assert any("conflicts_with" in it for it in details)
    assert any(it["derived_from_untrusted"] for it in details)
    assert any(it["sensitivity"] == "sensitive" for it in details)
    assert any(it["applies"] == "always" for it in details)
    learnings = await call.items("learnings.list")
    assert {it["status"] for it in learnings} == {"active", "provisional", "superseded"}
    (rollout,) = await call.items("rollouts.list")
    assert (rollout["status"], rollout["canary_success_count"]) == ("canary", 1)
    statuses = {it["status"] for it in await call.items("runs.list")}
    assert statuses == {"completed", "failed", "waiting_for_approval", "waiting_for_user_question"}
    assert len(await call.items("approvals.list")) == 1
    assert len(await call.items("questions.list")) == 1
    (proposal,) = await call.items("agents.proposals", agent_id="sample-release")
    assert proposal["state"] == "pending"


def test_a_sample_that_failed_half_way_says_where_and_is_removed_or_made_anew(
    settings: Settings,
) -> None:
    async def scenario() -> None:
        async with serving(settings) as call:
            service = call.services.sample
            whole = service.story
            broken = [
                replace(step, ids={"session_id": "nowhere"}) if number == 12 else step
                for number, step in enumerate(whole.steps)
            ]
            call.services.sample = replace(service, story=replace(whole, steps=tuple(broken)))
            with pytest.raises(OperationRefused, match=r"step 13 of .*sessions\.input.*remove"):
                await call("sample.load")
            assert (await call("sample.read"))["state"] == "partial"
            call.services.sample = service
            assert (await call("sample.load"))["state"] == "loaded"
            assert (await call("sample.remove"))["state"] == "absent"

    asyncio.run(scenario())


def test_a_name_that_is_somebodys_own_is_not_taken_and_not_removed(settings: Settings) -> None:
    async def scenario() -> None:
        async with serving(settings) as call:
            own = {"agent_id": "sample-support", "agent_type": "open"}
            await call("agents.create", body=own)
            with pytest.raises(OperationRefused, match="sample-support"):
                await call("sample.load")
            assert (await call("sample.remove"))["state"] == "absent"
            assert (await call("agents.get", agent_id="sample-support"))["agent_type"] == "open"

    asyncio.run(scenario())


def test_a_trashed_skill_from_before_the_sample_outlives_it(settings: Settings) -> None:
    async def scenario() -> None:
        async with serving(settings) as call:
            slug = call.services.sample.story.skills[0]
            text = f"---\nname: {slug}\ndescription: Mine from before.\n---\nDo it.\n"
            await call("skills.create", body={"content": text})
            await call("skills.delete", skill_id=slug)
            (mine,) = await call.items("skills.trash")
            await call("sample.load")
            await call("sample.remove")
            assert await call.items("skills.trash") == [mine]

    asyncio.run(scenario())


def test_the_route_of_the_sample_is_in_no_list(settings: Settings) -> None:
    async def scenario() -> None:
        async with serving(settings) as call:
            listed = {it["route_id"] for it in await call.items("routes.list")}
            assert listed.isdisjoint(ROUTES)

    asyncio.run(scenario())

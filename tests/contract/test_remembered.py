"""What a run says that it was given to remember, on both databases."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.contract.test_unlearn import Garden, unlearned
from tests.support.api_in_process import Caller, serving
from tests.support.run_harness import make_settings
from understudy.settings import Settings
from understudy.testing.fake_model import FakeModel

pytestmark = pytest.mark.every_database

SAID = "I like short answers"


@pytest.fixture
def settings(tmp_path: Path, fake: FakeModel, prepared_url: str) -> Settings:
    return make_settings(tmp_path, fake.url, "a", database_url=prepared_url)


async def learned(call: Caller, content: str, **fields: str) -> str:
    body = {"content": content, "kind": "preference", "applies": "always", **fields}
    learning_id: str = (await call("learnings.create", body=body))["learning_id"]
    return learning_id


async def asked(call: Caller, settings: Settings, session_id: str, text: str) -> Any:
    run_id = await Garden(call, settings, "one").run(session_id, text)
    return await call("runs.get", run_id=run_id)


async def given(call: Caller, session_id: str) -> list[Any]:
    """The events of a session that say what was remembered."""
    page = await call("sessions.events", session_id=session_id, kind="remembered")
    return [event["data"]["remembered"] for event in page["items"]]


async def test_a_run_tells_the_learnings_and_runs_in_its_prompt(settings: Settings) -> None:
    async with serving(settings) as call:
        await call("sessions.create", body={"session_id": "s1"})
        nothing = await asked(call, settings, "s1", "What is the plan?")
        learning_id = await learned(call, SAID)
        run = await asked(call, settings, "s1", "What is the plan for today?")
        listed = await call.items("runs.list", session_id="s1")

        told = {"id": learning_id, "kind": "learning", "content": SAID}
        assert nothing["remembered"] == []
        assert run["remembered"][0] == told
        (memory,) = run["remembered"][1:]
        assert (memory["id"], memory["kind"]) == (nothing["run_id"], "run_memory")
        assert "What is the plan?" in memory["content"]
        assert [each["remembered"] for each in listed] == [run["remembered"], []]
        assert await given(call, "s1") == [run["remembered"]]


async def test_a_revoked_learning_is_still_told_and_an_erased_one_is_not(
    settings: Settings,
) -> None:
    async with serving(settings) as call:
        await call("sessions.create", body={"session_id": "s1"})
        revoked, erased = await learned(call, SAID), await learned(call, "I like my tea black")
        run_id = (await asked(call, settings, "s1", "Hello"))["run_id"]
        await call("learnings.revoke", learning_id=revoked, body={"reason": "over"})
        await unlearned(call, {"kind": "learning", "id": erased})

        run = await call("runs.get", run_id=run_id)

        assert [each["id"] for each in run["remembered"]] == [revoked]
        assert await given(call, "s1") == [run["remembered"]]
        everything = await call("sessions.events", session_id="s1")
        assert "tea black" not in json.dumps(everything)

"""What the worst bodies cost the event loop, on which everybody else is served.

Measured is the processor time of the loop's own thread against that of doing the same work: other
programs on the machine change neither.
"""

import asyncio
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest
from fastapi import FastAPI
from pydantic import ValidationError
from starlette.testclient import TestClient

from understudy.core.errors import Invalid
from understudy.core.strict_json import MAX_NAMES, MAX_VALUES, parse
from understudy.wire.permissions import CheckTool
from understudy.wire.skills import UpdateSkill

ROOM = MAX_VALUES - 20
WORST: dict[str, tuple[str, str, Any, Any]] = {
    # Values of one kind are checked at once.
    "a list": ("POST", "/v1/tools/check", CheckTool, [0, "a"] * (ROOM // 2)),
    "unknown fields": (
        "POST",
        "/v1/tools/check",
        CheckTool,
        {f"k{it}": 0 for it in range(MAX_NAMES)},
    ),
    "wrong items": ("PUT", "/v1/skills/none", UpdateSkill, {"tags": [0] * ROOM}),
    "wrong items at the end": (
        "PUT",
        "/v1/skills/none",
        UpdateSkill,
        {"tags": ["a"] * 100 + [0] * (ROOM - 100)},
    ),
}


def done_here(kind: Any, body: bytes) -> None:
    """Parse and check a body, and spell all of its mistakes out."""
    try:
        kind.model_validate(parse(body))
    except ValidationError as error:
        error.errors()
    except Invalid:
        pass


def took(clock: Callable[[], float], do: Callable[[], object]) -> float:
    before = clock()
    do()
    return clock() - before


@pytest.mark.parametrize(("method", "path", "kind", "value"), WORST.values(), ids=WORST)
def test_the_worst_bodies_are_worked_on_beside_the_event_loop(
    api: TestClient, method: str, path: str, kind: Any, value: Any
) -> None:
    body = json.dumps(value).encode()
    json_body = {"Content-Type": "application/json"}

    def send() -> None:
        answer = api.request(method, path, content=body, headers=json_body)
        assert answer.status_code == 400, answer.text
        assert len(answer.content) < 50_000

    portal = api.portal
    assert portal is not None
    send()
    on_loop = took(lambda: portal.call(time.thread_time), send)
    here = took(time.thread_time, lambda: done_here(kind, body))

    assert on_loop < here / 2, (on_loop, here)


def test_a_long_id_costs_the_event_loop_no_more_than_another_long_text(api: TestClient) -> None:
    portal = api.portal
    assert portal is not None

    def on_loop_s(body: dict[str, str]) -> float:
        def send() -> None:
            assert api.post("/v1/projects", json=body).status_code == 400

        return min(took(lambda: portal.call(time.thread_time), send) for _ in range(4))

    text = "x" * 900_000
    elsewhere = on_loop_s({"project_id": "no id", "name": text})

    assert on_loop_s({"project_id": text, "name": "n"}) < 4 * elsewhere


def test_a_body_with_many_mistakes_is_told_how_many_and_the_first(api: TestClient) -> None:
    answer = api.put("/v1/skills/none", json={"tags": [0] * ROOM})

    problem = answer.json()
    assert (answer.status_code, problem["detail"]) == (400, f"the request has {ROOM} wrong values")
    assert problem["errors"][0]["pointer"] == "/tags/0"
    assert len(problem["errors"]) == 50


def test_long_bodies_wait_for_their_turn_without_a_thread(api: TestClient) -> None:
    """More than there are threads in the pool: who waits in a thread would leave none to others."""
    turn = asyncio.Semaphore(0)
    cast("FastAPI", api.app).state.long_bodies = turn
    portal = api.portal
    assert portal is not None

    def send(_: int) -> int:
        return api.post("/v1/tools/check", json=[0] * 10_000).status_code

    with ThreadPoolExecutor(50) as pool:
        answers = [pool.submit(send, each) for each in range(50)]
        shorts = [api.post("/v1/tools/check", json={"tool": "shell"}).status_code for _ in range(5)]
        waiting = [each for each in answers if not each.done()]
        portal.call(turn.release)
        assert [each.result() for each in answers] == [400] * 50

    assert shorts == [200] * 5
    assert len(waiting) == 50

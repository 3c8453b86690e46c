"""A conversation that carries its own script, so that any restarted fake model goes on with it.

A user text may contain `plan: {"tools": [["write_file", {"path": "a"}], …], "final": "done"}`.
Each entry of `tools` is one turn: `[name, arguments]`, or a list of such pairs for parallel calls.
The turn to play is chosen by the number of tool results since that text; after the last turn comes
`final`. `delay_s` makes every answer wait, `pause_s` stretches its stream.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from understudy.testing.answers import Answer, FakeCall, SeenRequest, Turn

MARK: Final = "plan:"


def answer_by_plan(request: SeenRequest) -> Answer | None:
    """The next answer of the plan in the conversation, if the running exchange has one."""
    found = _current_plan(request.turns)
    if found is None:
        return None
    plan, results = found
    answer = Answer(text=str(plan.get("final", "done")))
    for turn in plan.get("tools", []):
        calls = _calls(turn)
        if results < len(calls):
            answer = Answer(calls=calls)
            break
        results -= len(calls)
    return replace(
        answer, delay_s=float(plan.get("delay_s", 0)), pause_s=float(plan.get("pause_s", 0))
    )


def _current_plan(turns: Sequence[Turn]) -> tuple[dict[str, Any], int] | None:
    results = 0
    for turn in reversed(turns):
        if turn.role == "assistant" and not turn.calls:
            return None  # that exchange was finished, whatever was planned before it
        if turn.role == "tool":
            results += 1
        # Other user texts may follow the plan (nudges), so look further back.
        if turn.role == "user" and (plan := _read_plan(turn.text)) is not None:
            return plan, results
    return None


def _read_plan(text: str) -> dict[str, Any] | None:
    start = text.rfind(MARK)
    if start < 0:
        return None
    try:
        plan, _ = json.JSONDecoder().raw_decode(text[start + len(MARK) :].lstrip())
    except ValueError:
        return None
    return plan if isinstance(plan, dict) else None


def _calls(turn: list[Any]) -> tuple[FakeCall, ...]:
    pairs = turn if isinstance(turn[0], list) else [turn]
    return tuple(FakeCall(name=name, arguments=arguments) for name, arguments in pairs)

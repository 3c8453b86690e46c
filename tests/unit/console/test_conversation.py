"""Conversations from journal events: runs, steps, tool calls, and their place in time."""

from typing import Any

from understudy.console.conversation import RunTurn, timeline_of, turns_of


def event(kind: str, at_ms: int, run_id: str | None = "run_1", **data: Any) -> dict[str, Any]:
    return {"kind": kind, "at_ms": at_ms, "run_id": run_id, "data": data}


ASKED = [
    event("session", 0, None, type="created"),
    event("run", 100, type="accepted", status="queued"),
    event("run", 200, type="started", status="running"),
    event("input", 200, items=[{"type": "text", "text": "hi"}, {"type": "image"}], user_id="ann"),
    event("message", 500, step=1, text="", model="m", usage={"input_tokens": 3}),
    event("tool_call", 500, call_id="c", name="shell", arguments="{}"),
    event("tool_result", 700, call_id="c", status="ok", content="done"),
    event("message", 900, step=2, text="there", model="m"),
    event("run", 1100, type="completed", status="completed"),
]


def only(events: list[dict[str, Any]]) -> RunTurn:
    [turn] = turns_of(events)
    return turn


def test_a_run_is_what_was_said_its_steps_and_its_state() -> None:
    turn = only(ASKED)

    assert (turn.run_id, turn.input, turn.user_id) == ("run_1", "hi\n[image]", "ann")
    assert turn.status == "completed"
    assert [step.text for step in turn.steps] == ["", "there"]
    [call] = turn.steps[0].calls
    assert (call.name, call.status, call.result) == ("shell", "ok", "done")


def test_the_timeline_has_model_and_tool_calls_in_thousandths() -> None:
    bars = timeline_of(only(ASKED), until_ms=1100)

    assert [(bar.kind, bar.start, bar.width, bar.took_ms) for bar in bars] == [
        ("model", 100, 300, 300),
        ("tool", 400, 200, 200),
        ("model", 600, 200, 200),
    ]


def test_a_call_without_a_result_lasts_until_now() -> None:
    [_, bar] = timeline_of(only(ASKED[:6]), until_ms=1100)

    assert (bar.kind, bar.took_ms) == ("tool", 600)


def test_a_bar_is_never_too_thin_to_see_nor_beyond_the_end() -> None:
    late = [*ASKED[:4], event("message", 1_000_000, step=1, text="", model="m")]
    late.append(event("tool_call", 1_000_000, call_id="c", name="shell"))
    bars = timeline_of(only(late), until_ms=1_000_000)

    assert all(bar.width > 0 and bar.start + bar.width <= 1000 for bar in bars)


def test_a_failed_run_says_why_and_a_cut_journal_breaks_nothing() -> None:
    turn = only(
        [
            event("tool_result", 5, call_id="x", status="ok"),
            event("run", 9, type="failed", status="failed", detail="no model"),
        ]
    )

    assert (turn.status, turn.notes, turn.steps) == ("failed", ["no model"], [])

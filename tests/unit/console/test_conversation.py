"""Conversations from journal events: runs, steps, tool calls, and their place in time."""

from typing import Any

import pytest

from understudy.console.conversation import (
    ChildLane,
    RunTurn,
    gist,
    pretty,
    steps_of,
    timeline_of,
    turns_of,
)


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


def test_the_timeline_has_the_queue_model_and_tool_calls_in_thousandths() -> None:
    bars = timeline_of(only(ASKED), until_ms=1100)

    assert [(bar.kind, bar.start, bar.width, bar.began_ms, bar.took_ms) for bar in bars] == [
        ("queue", 0, 100, 0, 100),
        ("model", 100, 300, 100, 300),
        ("tool", 400, 200, 400, 200),
        ("model", 600, 200, 600, 200),
    ]


def test_a_call_without_a_result_lasts_until_now() -> None:
    [*_, bar] = timeline_of(only(ASKED[:6]), until_ms=1100)

    assert (bar.kind, bar.took_ms) == ("tool", 600)


def test_a_wait_lasts_until_the_run_goes_on() -> None:
    waits = event("run", 500, type="waiting_for_approval", status="waiting_for_approval")
    decided = event("run", 800, type="approval_resolved", status="waiting_for_approval")
    resumed = event("run", 900, type="resumed", status="running")

    for events, took in (
        ((waits,), 600),
        ((waits, decided), 600),
        ((waits, decided, resumed), 400),
    ):
        bars = timeline_of(only([*ASKED[:5], *events]), until_ms=1100)
        assert [bar.took_ms for bar in bars if bar.kind == "approval"] == [took]


def test_a_sidechain_has_a_lane_of_its_own() -> None:
    children = [
        ChildLane(label="reader", href="/sessions/below", at_ms=600, ended_at_ms=None),
        ChildLane(label="early", href="/sessions/other", at_ms=50, ended_at_ms=300),
    ]

    bars = timeline_of(only(ASKED), until_ms=1100, children=children)

    assert [(bar.label, bar.start, bar.took_ms) for bar in bars if bar.kind == "child"] == [
        ("early", 0, 200),
        ("reader", 500, 500),
    ]


def test_a_bar_is_never_too_thin_to_see_nor_beyond_the_end() -> None:
    late = [*ASKED[:4], event("message", 1_000_000, step=1, text="", model="m")]
    late.append(event("tool_call", 1_000_000, call_id="c", name="shell"))
    bars = timeline_of(only(late), until_ms=1_000_000)

    assert all(bar.width > 0 and bar.start + bar.width <= 1000 for bar in bars)


def test_a_step_has_what_went_in_beside_what_came_out() -> None:
    first, tool, second = steps_of(only(ASKED))

    assert (first.kind, first.input, first.output) == ("model", "hi\n[image]", "shell {}")
    assert (tool.kind, tool.input, tool.output, tool.took_ms) == ("tool", "{}", "done", 200)
    assert (second.input, second.output, second.is_failed) == ("shell: done", "there", False)


@pytest.mark.parametrize(("status", "is_failed"), [("ok", False), ("", False), ("denied", True)])
def test_a_tool_that_did_not_answer_well_is_a_failed_step(status: str, is_failed: bool) -> None:
    result = event("tool_result", 700, call_id="c", status=status, content="")

    [_, tool] = steps_of(only([*ASKED[:6], result]))

    assert tool.is_failed is is_failed


def test_a_run_keeps_its_candidates_hints_and_where_its_stream_goes_on() -> None:
    turn = only(
        [
            *ASKED,
            {**event("candidates_added", 1200, candidate_ids=["cand_1", "cand_2"]), "offset": 12},
            {**event("hint", 1201, code="x", text="switch it on"), "offset": 13},
        ]
    )

    assert (turn.candidate_ids, turn.hints) == (["cand_1", "cand_2"], ["switch it on"])
    assert (turn.offset, turn.step) == (13, 2)


@pytest.mark.parametrize(
    ("data", "line"),
    [
        ({"items": [{"type": "text", "text": "two\nlines"}], "user_id": "ann"}, "two lines"),
        (
            {"text": "", "tool_calls": [{"name": "shell"}, {"name": "read_file"}]},
            "shell, read_file",
        ),
        ({"type": "started", "status": "running"}, ""),
        ({"candidate_ids": []}, ""),
        ({"text": "x" * 500}, "x" * 120),
    ],
)
def test_what_an_event_says_is_one_line(data: dict[str, Any], line: str) -> None:
    assert gist({"data": data}) == line


@pytest.mark.parametrize(
    ("text", "shown"), [('{"a":"ä"}', '{\n  "a": "ä"\n}'), ("{half", "{half"), ("[" * 9999, None)]
)
def test_arguments_are_shown_value_by_value_where_they_are_json(
    text: str, shown: str | None
) -> None:
    assert pretty(text) == (text if shown is None else shown)


def test_a_failed_run_says_why_and_a_cut_journal_breaks_nothing() -> None:
    turn = only(
        [
            event("tool_result", 5, call_id="x", status="ok"),
            event("run", 9, type="failed", status="failed", detail="no model"),
        ]
    )

    assert (turn.status, turn.notes, turn.steps) == ("failed", ["no model"], [])


@pytest.mark.parametrize("kind", ["input", "message", "tool_call", "tool_result", "run", "hint"])
def test_an_event_that_lost_its_data_breaks_nothing(kind: str) -> None:
    assert only([event("message", 100, step=1), event(kind, 200)]).run_id == "run_1"

"""A run in words: the reply on stdout, the rest beside it."""

import json

import pytest

from understudy.cli.transcript import Transcript
from understudy.client.sse import ServerSentEvent
from understudy.client.streams import StreamEvent, read_event

WHERE = {"run_id": "r", "session_id": "s", "timestamp_ms": 1}


def event(kind: str, /, **data: object) -> StreamEvent:
    return read_event(ServerSentEvent(event=kind, data=json.dumps({**WHERE, **data})))


def delta(text: str, step: int = 1) -> StreamEvent:
    return event("delta", text=text, step=step)


def updated(status: str, **more: object) -> StreamEvent:
    return event("run_updated", agent_id="a", status=status, event={"type": status, **more})


def tell(capsys: pytest.CaptureFixture[str], *events: StreamEvent) -> tuple[str, str]:
    transcript = Transcript()
    for one in events:
        transcript.show(one)
    printed = capsys.readouterr()
    return printed.out, printed.err


def test_a_reply_is_printed_once_though_it_comes_twice(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = tell(
        capsys, delta("He"), delta("llo"), event("output", text="Hello"), updated("completed")
    )

    assert (out, err) == ("Hello\n", "")


def test_an_output_that_was_not_streamed_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = tell(capsys, event("output", text="Hello"), updated("completed"))

    assert out == "Hello\n"


def test_tools_take_one_line_each_beside_the_reply(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = tell(
        capsys,
        delta("Let me look."),
        event("tool_call", call_id="c", name="list_files", arguments={"path": "."}),
        event("tool_result", call_id="c", name="list_files", status="ok", content="a\nb\x1b[2J"),
        delta("Done.", step=2),
        event("output", text="Done.", step=2),
    )

    assert out == "Let me look.\nDone.\n"
    assert err.splitlines() == [
        '→ list_files {"path": "."}',
        "← list_files ok: a b\N{REPLACEMENT CHARACTER}[2J",
    ]


def test_a_reply_that_starts_over_begins_on_its_own_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, err = tell(
        capsys,
        delta("Hi"),
        event("delta_reset", step=1),
        delta("Hello"),
        event("output", text="Hello"),
    )

    assert out == "Hi\nHello\n"
    assert "starts this reply over" in err


def test_a_failed_run_says_why_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = tell(capsys, delta("Hm"), updated("failed", error="the model\nis gone"))

    assert (out, err) == ("Hm\n", "run failed: the model is gone\n")


def test_a_run_that_waits_says_for_what(capsys: pytest.CaptureFixture[str]) -> None:
    _, err = tell(capsys, updated("waiting_for_approval"))

    assert "waits for an approval" in err

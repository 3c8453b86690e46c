"""A run in words: the reply on stdout, the rest beside it."""

import io
import json
import re
import time

import pytest

from understudy.cli.output import error_lines
from understudy.cli.transcript import Transcript, Waiting, tell_candidates
from understudy.client.errors import UnreachableError
from understudy.client.streams import ServerSentEvent, StreamEvent, read_event

WHERE = {"run_id": "r", "session_id": "s", "timestamp_ms": 1}


def event(kind: str, /, **data: object) -> StreamEvent:
    return read_event(ServerSentEvent(event=kind, data=json.dumps({**WHERE, **data})))


def delta(text: str, step: int = 1) -> StreamEvent:
    return event("delta", text=text, step=step)


def updated(status: str, **more: object) -> StreamEvent:
    return event("run_updated", agent_id="a", status=status, event={"type": status, **more})


def tell(capsys: pytest.CaptureFixture[str], *events: StreamEvent) -> tuple[str, str]:
    with Transcript("run_1") as transcript:
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


def test_what_was_remembered_stands_below_the_answer_in_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    entries = [{"id": f"lrn_{n}", "kind": "learning", "content": f"It\nis {n}"} for n in range(5)]

    out, err = tell(
        capsys, event("remembered", remembered=entries), delta("Hello"), updated("completed")
    )

    assert out == "Hello\n"
    assert err == "remembered: It is 0 (lrn_0); It is 1 (lrn_1); It is 2 (lrn_2); +2 more\n"


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


@pytest.mark.parametrize(
    ("status", "content", "line"),
    [
        ("denied", "denied: rule 1 of the session", "← shell denied: rule 1 of the session"),
        ("denied", "denied by ann: not here", "← shell denied by ann: not here"),
        ("error", "no such file", "← shell error: no such file"),
        ("ok", "ok, as you wish", "← shell ok: ok, as you wish"),
    ],
)
def test_how_a_call_fared_is_said_once(
    capsys: pytest.CaptureFixture[str], status: str, content: str, line: str
) -> None:
    _, err = tell(
        capsys, event("tool_result", call_id="c", name="shell", status=status, content=content)
    )

    assert err.splitlines() == [line]


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


def test_a_reply_that_starts_over_with_a_tool_says_so_first(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, err = tell(
        capsys,
        delta("Hi"),
        event("delta_reset", step=1),
        event("tool_call", call_id="c", name="list_files", arguments={}),
    )

    assert err.splitlines() == ["↻ the model starts this reply over", "→ list_files {}"]


def test_a_reply_that_was_taken_back_for_good_does_not_start_over(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, err = tell(
        capsys, delta("Hi"), event("delta_reset", step=1), updated("failed", error="no model")
    )

    assert (out, err) == ("Hi\n", "run failed: no model\n")


def test_a_failed_run_says_why_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = tell(capsys, delta("Hm"), updated("failed", error="the model\nis gone"))

    assert (out, err) == ("Hm\n", "run failed: the model is gone\n")


def test_a_run_that_waits_says_for_what(capsys: pytest.CaptureFixture[str]) -> None:
    _, err = tell(capsys, updated("waiting_for_approval"))

    assert "waits for an approval" in err


def test_what_was_decided_is_said_and_not_taken_for_a_new_wait(
    capsys: pytest.CaptureFixture[str],
) -> None:
    resolution = {"request_id": "apr_1", "behavior": "deny", "reason": "no"}
    decided = event(
        "run_updated",
        agent_id="a",
        status="waiting_for_approval",
        event={"type": "approval_resolved", "resolutions": [resolution]},
    )

    _, err = tell(capsys, decided)

    assert err == "denied: apr_1 (no)\n"


def test_who_knows_more_about_the_wait_says_it_instead(capsys: pytest.CaptureFixture[str]) -> None:
    told: list[str] = []
    with Transcript("run_1", on_wait=lambda: told.append("asked")) as transcript:
        transcript.show(delta("Hm"))
        transcript.show(updated("waiting_for_approval"))

    assert told == ["asked"]
    assert capsys.readouterr() == ("Hm\n", "")


def test_a_daemon_that_is_away_for_a_moment_does_not_repeat_the_reply(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Transcript("run_1") as transcript:
        transcript.show(delta("He"))
        transcript.show_away()
        transcript.show(delta("llo"))
        transcript.show(event("output", text="Hello"))

    printed = capsys.readouterr()
    assert printed.out == "He\nllo\n"
    assert printed.err == "the daemon is away; waiting…\n"


def test_a_daemon_that_stays_away_ends_the_line_and_leaves_a_hint(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def follow() -> None:
        with Transcript("run_1") as transcript:
            transcript.show(delta("He"))
            raise UnreachableError("http://x", "refused")

    with pytest.raises(UnreachableError) as caught:
        follow()

    assert capsys.readouterr().out == "He\n"
    last = error_lines(caught.value)[-1]
    assert last == "  the run goes on when the daemon is back: understudy runs watch run_1"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def seen_after(monkeypatch: pytest.MonkeyPatch, patience_s: float, *events: StreamEvent) -> str:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with Transcript("run_1", waiting=Waiting(patience_s)) as transcript:
        for one in events:
            transcript.show(one)
        time.sleep(0.15)
    return re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue())


def test_on_a_terminal_a_long_silence_names_what_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calling = event("tool_call", call_id="c", name="list_files", arguments={})

    assert seen_after(monkeypatch, 0.01, updated("running")) == "waiting for the model…\n"
    assert "waiting for list_files…" in seen_after(monkeypatch, 0.01, calling)


def test_what_has_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert seen_after(monkeypatch, 0.1, updated("running"), delta("Hi")) == ""
    assert seen_after(monkeypatch, 0.1, updated("running"), updated("completed")) == ""


def test_a_pipe_hears_nothing_of_silence(capsys: pytest.CaptureFixture[str]) -> None:
    with Transcript("run_1", waiting=Waiting(0)) as transcript:
        transcript.show(updated("running"))
        time.sleep(0.05)

    assert capsys.readouterr().err == ""


def test_a_hint_is_a_line_beside_the_reply(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = tell(
        capsys, delta("Hi"), event("hint", code="x", text="switch it on"), updated("completed")
    )

    assert (out, err) == ("Hi\n", "switch it on\n")


@pytest.mark.parametrize(
    ("ids", "line"),
    [
        ([], ""),
        (["cand_1"], "1 suggestion to remember: understudy review next\n"),
        (["cand_1", "cand_2"], "2 suggestions to remember: understudy review next\n"),
    ],
)
def test_candidates_of_a_run_take_one_line(
    capsys: pytest.CaptureFixture[str], ids: list[str], line: str
) -> None:
    with Transcript("run_1") as transcript:
        transcript.show(event("candidates_added", candidate_ids=ids))
    tell_candidates(transcript.candidate_ids)

    assert capsys.readouterr().err == line

"""A run in a few hundred characters."""

from typing import Any

import pytest

from tests.support.factories import NOW, make_letter, make_run
from understudy.mailboxes.letters import framed
from understudy.memory.capture import Digest, digest
from understudy.memory.record import RunMemory
from understudy.memory.texts import EVIDENCE_BYTES, Cleaner
from understudy.runs.model import InputItem, RunInput, RunKind, RunStatus
from understudy.runs.sidechain_links import CLARIFICATION

KEY = "sk-" + "proj-" + "ABCDEFGHIJKLMNOP"


def made(
    outcome: str = "",
    *,
    asked: str = "inspect the repo",
    artifacts: tuple[str, ...] = (),
    **fields: Any,
) -> Digest:
    values: dict[str, Any] = {
        "status": RunStatus.COMPLETED,
        "finished_at_ms": NOW + 5,
        "input": RunInput(items=(InputItem(type="text", text=asked),)),
    }
    run = make_run(**(values | fields))
    return digest(run, outcome=outcome, artifact_ids=artifacts, cleaner=Cleaner())


def memory(outcome: str = "", **fields: Any) -> RunMemory:
    return made(outcome, **fields).memory


def test_a_completed_run_is_request_and_result() -> None:
    found = memory("done")

    assert found.summary == "Request: inspect the repo\nResult: done"
    assert (found.request_preview, found.outcome_preview) == ("inspect the repo", "done")
    assert found.failure_markers == ()
    assert found.recorded_at_ms == NOW + 5


@pytest.mark.parametrize(
    ("status", "error", "markers", "last_line"),
    [
        # No caller meets this today, because a run whose model says nothing fails; it holds all
        # the same for a run that ends by a file or a tool alone.
        (RunStatus.COMPLETED, None, (), "Status: completed without an answer in words."),
        (RunStatus.FAILED, "boom", ("failed", "error: boom"), "Error: boom"),
        (RunStatus.FAILED, None, ("failed",), "Status: failed without an error message."),
        (RunStatus.INTERRUPTED, None, ("interrupted",), "Status: interrupted before it was done."),
        (
            RunStatus.CANCELLED,
            "with its parent",
            ("cancelled", "error: with its parent"),
            "Status: cancelled before it was done.",
        ),
    ],
)
def test_an_ending_without_words_is_told_by_its_status(
    status: RunStatus, error: str | None, markers: tuple[str, ...], last_line: str
) -> None:
    found = memory("", status=status, error=error)

    assert found.failure_markers == markers
    assert found.summary == f"Request: inspect the repo\n{last_line}"
    assert found.outcome_preview is None


def test_a_run_that_was_stopped_keeps_what_it_had_said() -> None:
    found = memory("half", status=RunStatus.INTERRUPTED)

    assert found.summary.splitlines()[1:] == [
        "Result: half",
        "Status: interrupted before it was done.",
    ]


def test_previews_have_160_characters_and_summaries_480() -> None:
    found = memory("b" * 300, asked="a" * 500, status=RunStatus.FAILED, error="c" * 300)

    assert found.request_preview == "a" * 160 + "…"
    assert found.outcome_preview == "b" * 160 + "…"
    assert found.failure_markers[1] == "error: " + "c" * 160 + "…"
    assert len(found.summary) == 481
    assert found.summary.endswith("…")


@pytest.mark.parametrize("kind", [RunKind.INPUT, RunKind.SCHEDULED_INPUT, RunKind.MAILBOX_DELIVERY])
def test_a_secret_across_the_cut_leaves_nothing(kind: RunKind) -> None:
    filler = ("filler " * 30)[:150]

    found = made("ok", asked=f"{filler} {KEY}", kind=kind)

    for text in (found.memory.summary, found.memory.request_preview, found.evidence.request):
        assert "sk-" not in (text or "")
        assert "ABCDEF" not in (text or "")
    assert found.redacted == 1


def test_the_parts_of_an_input_are_joined_by_a_blank_and_files_named() -> None:
    items = (
        InputItem(type="text", text="look at"),
        InputItem(type="asset_reference", asset_id="a1", file_name="x.png"),
        InputItem(type="text", text="closely"),
    )

    found = memory("ok", input=RunInput(items=items), artifacts=("a2", "a1", "a2"))

    assert found.request_preview == "look at [asset:a1] closely"
    assert found.artifact_ids == ("a1", "a2")


def test_each_file_is_told_of_in_the_form_in_which_it_was_given() -> None:
    png: dict[str, Any] = {
        "type": "asset_reference",
        "file_name": "plan.png",
        "media_type": "image/png",
    }
    inline = InputItem(**png, asset_id="a1", given_as="inline")
    attached = [InputItem(**png, asset_id=f"a{n}", given_as="attachment") for n in (2, 3)]
    text = InputItem(type="text", text="compare")

    sent_along = memory("ok", input=RunInput(items=(text, inline)))
    with_content = memory("ok", input=RunInput(items=(text, *attached)))
    alone = memory("ok", input=RunInput(items=tuple(attached)))

    assert sent_along.request_preview == "compare [inline_asset:plan.png image/png]"
    assert with_content.request_preview == "compare [2 attachment(s)]"
    assert with_content.artifact_ids == ("a2", "a3")
    assert alone.request_preview == "[2 attachment(s)]"


def test_of_a_letter_the_sender_and_the_text_are_kept() -> None:
    letter = make_letter("the roof leaks\nbadly", subject="House")

    found = memory("ok", asked=framed(letter), kind=RunKind.MAILBOX_DELIVERY)

    assert found.request_preview == "Letter from user alice\nSubject: House\nthe roof leaks\nbadly"


def test_of_a_clarification_the_questions_are_kept() -> None:
    asked = f'{CLARIFICATION}\n{{"questions": [{{"id": "q1", "question": "Which roof?"}}]}}'

    found = memory("ok", asked=asked, kind=RunKind.PARENT_CLARIFICATION)

    assert found.request_preview == "Question from a sidechain\nWhich roof?"


@pytest.mark.parametrize("kind", [RunKind.MAILBOX_DELIVERY, RunKind.PARENT_CLARIFICATION])
@pytest.mark.parametrize("asked", ["hello", f"{CLARIFICATION}\n[1]", f"{CLARIFICATION}\n{{"])
def test_what_is_not_in_the_frame_of_today_is_kept_as_it_is(kind: RunKind, asked: str) -> None:
    assert made("ok", asked=asked, kind=kind).evidence.request == asked


def test_evidence_is_longer_than_the_preview_and_bounded() -> None:
    found = made("ö" * 10_000, asked="word " * 1000)

    assert found.evidence.request == ("word " * 1000).strip()
    assert found.evidence.outcome == "ö" * (EVIDENCE_BYTES // 2)


def test_a_run_that_was_never_finished_counts_from_its_last_change() -> None:
    assert memory(finished_at_ms=None, updated_at_ms=NOW + 7).recorded_at_ms == NOW + 7


def test_what_is_blank_is_absent() -> None:
    found = memory("  \n", asked=" ")

    assert (found.request_preview, found.outcome_preview) == (None, None)
    assert found.summary == "Status: completed without an answer in words."

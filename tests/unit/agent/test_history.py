"""Earlier turns come back from the journal as the model once saw them, within a budget."""

from collections.abc import Sequence

import pytest

from tests.support.factories import make_event
from tests.unit.agent.journals import answered, resulted, said
from understudy.agent.history import (
    BATCH,
    NO_RESULT,
    TRANSCRIPT_KINDS,
    Start,
    find_start,
    input_text,
    message_data,
    pieces_of,
    read_history,
    reply_of,
)
from understudy.providers.base import (
    AssistantMessage,
    Message,
    ModelReply,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from understudy.sessions.journal import EventKind, JournalEvent, NewEvent
from understudy.storage.journal import JournalStore


class Journal(JournalStore):
    """A journal in a list."""

    def __init__(self, events: Sequence[JournalEvent]) -> None:
        self.events = list(events)

    def read(
        self,
        *,
        session_id: str | None = None,
        run_id: str | None = None,
        after_offset: int = 0,
        after_sequence: int = 0,
        kinds: Sequence[EventKind] = (),
        limit: int = 200,
    ) -> tuple[JournalEvent, ...]:
        found = [e for e in self.events if e.offset > after_offset and e.kind in kinds]
        return tuple(found[:limit])

    def read_back(
        self, session_id: str, *, before_offset: int, kinds: Sequence[EventKind], limit: int
    ) -> tuple[JournalEvent, ...]:
        found = [e for e in self.events if e.offset < before_offset and e.kind in kinds]
        return tuple(reversed(found))[:limit]

    def append(
        self, session_id: str, events: Sequence[NewEvent], *, at_ms: int
    ) -> tuple[JournalEvent, ...]:
        raise NotImplementedError

    def outputs(
        self, run_ids: Sequence[str], *, kinds: Sequence[EventKind] = ()
    ) -> dict[str, tuple[JournalEvent, ...]]:
        raise NotImplementedError

    def checkpoints(
        self, session_id: str, *, before_offset: int, limit: int
    ) -> tuple[JournalEvent, ...]:
        raise NotImplementedError

    def by_keys(self, session_id: str, keys: Sequence[str]) -> tuple[JournalEvent, ...]:
        raise NotImplementedError

    def last_sequence(self) -> int:
        raise NotImplementedError


def messages_of(events: Sequence[JournalEvent]) -> tuple[Message, ...]:
    return tuple(message for piece in pieces_of(events) for message in piece.messages)


CALL = ToolCall(call_id="c1", name="read_file", arguments='{"path": "a"}')
OTHER = ToolCall(call_id="c2", name="list_files", arguments="{}")


def test_a_finished_turn_reads_as_it_went() -> None:
    events = [said(1, "look"), answered(2, "", CALL), resulted(3, "c1", "x"), answered(4, "done")]

    assert messages_of(events) == (
        UserMessage(text="look"),
        AssistantMessage(text="", tool_calls=(CALL,)),
        ToolMessage(call_id="c1", name="read_file", content="x"),
        AssistantMessage(text="done"),
    )


def test_a_call_without_a_result_gets_one_that_says_so() -> None:
    events = [
        said(1, "look"),
        answered(2, "", CALL, OTHER),
        resulted(3, "c2", "y"),
        said(9, "and?"),
    ]

    assert messages_of(events)[2:] == (
        ToolMessage(call_id="c1", name="read_file", content=NO_RESULT),
        ToolMessage(call_id="c2", name="list_files", content="y"),
        UserMessage(text="and?"),
    )


def test_results_follow_in_the_order_of_the_calls_not_of_their_finish() -> None:
    events = [answered(1, "", CALL, OTHER), resulted(2, "c2", "second"), resulted(3, "c1", "first")]

    contents = [m.content for m in messages_of(events) if isinstance(m, ToolMessage)]

    assert contents == ["first", "second"]


def test_the_same_call_id_in_another_run_is_another_call() -> None:
    events = [
        answered(1, "", CALL, run_id="r1"),
        resulted(2, "c1", "of r1", run_id="r1"),
        answered(3, "", CALL, run_id="r2"),
        resulted(4, "c1", "of r2", run_id="r2"),
    ]

    contents = [m.content for m in messages_of(events) if isinstance(m, ToolMessage)]

    assert contents == ["of r1", "of r2"]


def test_a_server_that_hands_out_the_same_call_id_in_every_step_confuses_nobody() -> None:
    events = [
        answered(1, "", CALL, step=1),
        resulted(2, "c1", "of step 1", step=1),
        answered(3, "", CALL, step=2),
        resulted(4, "c1", "of step 2", step=2),
    ]

    contents = [m.content for m in messages_of(events) if isinstance(m, ToolMessage)]

    assert contents == ["of step 1", "of step 2"]


def test_an_input_shows_texts_as_they_were_and_assets_by_their_id() -> None:
    items = [{"type": "text"}, {"type": "text", "text": "b"}, {"type": "inline_asset"}]
    items.append({"type": "asset_reference", "asset_id": "asset_1"})

    assert input_text({"items": items}) == "\nb\n[asset:unknown]\n[asset:asset_1]"


def test_a_damaged_event_does_not_hide_the_others() -> None:
    events = [make_event(EventKind.DAMAGED, 1, data={}), said(2, "hi")]

    assert messages_of(events)[-1] == UserMessage(text="hi")


def test_a_reply_comes_back_from_the_journal_as_it_was() -> None:
    reply = ModelReply(
        text="hm",
        tool_calls=(CALL, OTHER),
        usage=Usage(input_tokens=3, output_tokens=2, cache_read_tokens=1),
        model="m",
        finish_reason="tool_calls",
    )

    assert reply_of(message_data(4, reply)) == reply


# Each turn costs 2 × 29 tokens: 100 bytes at 0.285 tokens, rounded up.
TURNS = [
    event
    for turn in range(5)
    for event in (said(turn * 10 + 1, "x" * 100), answered(turn * 10 + 2, "y" * 100))
]


@pytest.mark.parametrize(
    ("budget", "start"),
    [(0, 42), (57, 42), (58, 41), (86, 41), (87, 32), (116, 31), (289, 2), (290, 1), (10_000, 1)],
)
def test_the_budget_cuts_between_messages_and_the_newest_stays(budget: int, start: int) -> None:
    found = find_start(Journal(TURNS), "s1", before_offset=99, budget_tokens=budget)

    assert found.offset == start


def test_nothing_before_the_first_input() -> None:
    assert find_start(Journal([]), "s1", before_offset=1, budget_tokens=100) == Start(offset=1)


def test_tool_calls_and_results_count_too() -> None:
    events = [said(1, ""), answered(2, "", CALL), resulted(3, "c1", "x" * 1000)]
    needed = 285 + 4

    start = [
        find_start(Journal(events), "s1", before_offset=9, budget_tokens=budget).offset
        for budget in (needed - 1, needed)
    ]

    assert start == [2, 1]


def test_what_a_checkpoint_stands_for_is_not_read_again() -> None:
    found = [
        find_start(
            Journal(TURNS), "s1", after_offset=after, before_offset=99, budget_tokens=10_000
        ).offset
        for after in (0, 20, 21, 41, 42)
    ]

    assert found == [1, 21, 22, 42, 99]


def test_one_huge_turn_does_not_empty_the_history() -> None:
    events = [
        said(1, "look at everything"),
        answered(2, "", CALL),
        resulted(3, "c1", "x" * 100_000),
        answered(4, "", OTHER, step=2),
        resulted(5, "c2", "y" * 100_000, step=2),
    ]

    assert find_start(Journal(events), "s1", before_offset=9, budget_tokens=1000).offset == 4


def test_a_reply_and_its_results_are_one_piece() -> None:
    events = [said(1, "look"), answered(2, "", CALL), resulted(3, "c1", "x"), answered(4, "done")]

    pieces = pieces_of(events)

    assert [piece.offset for piece in pieces] == [1, 2, 4]
    assert [len(piece.messages) for piece in pieces] == [1, 2, 1]


def test_a_history_longer_than_a_batch_is_read_whole_and_stops_before_the_input() -> None:
    events = [said(offset, str(offset)) for offset in range(1, 3 * BATCH + 2)]
    last = 3 * BATCH

    history = read_history(Journal(events), "s1", from_offset=5, before_offset=last)

    assert [piece.offset for piece in history] == list(range(5, last))


def test_finding_the_start_looks_beyond_a_batch() -> None:
    events = [said(offset, "x") for offset in range(1, 2 * BATCH)]

    found = find_start(Journal(events), "s1", before_offset=2 * BATCH, budget_tokens=10_000)

    # An "x" is one token.
    assert (found.offset, found.tokens) == (1, 2 * BATCH - 1)
    assert found.events == tuple(events)


def test_only_the_transcript_is_read() -> None:
    assert set(TRANSCRIPT_KINDS) == {EventKind.INPUT, EventKind.MESSAGE, EventKind.TOOL_RESULT}

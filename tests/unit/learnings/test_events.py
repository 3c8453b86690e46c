"""How a session's journal speaks of learnings, and to whom."""

from tests.support.factories import NOW, make_event
from understudy.agent.history import TRANSCRIPT_KINDS, pieces_of
from understudy.api.sse import frame_of
from understudy.client.streams import READERS
from understudy.sessions.journal import EventKind
from understudy.wire.events import CandidatesAdded, Hint, LearningUpdated


def test_streams_tell_of_learnings_under_a_name_of_their_own() -> None:
    data = {"what": "learning_revoked", "learning_id": "lrn_1", "status": "revoked"}
    event = make_event(EventKind.LEARNING, 1, data=data)
    frame = frame_of(event, event_id="7")
    assert frame is not None
    assert frame.event == "learning_updated"
    read = READERS[frame.event](dict(frame.data))
    assert isinstance(read, LearningUpdated)
    assert (read.session_id, read.timestamp_ms, read.event) == ("s1", NOW, data)


def test_what_was_learned_is_no_part_of_the_conversation() -> None:
    assert EventKind.LEARNING not in TRANSCRIPT_KINDS
    assert pieces_of([make_event(EventKind.LEARNING, 1, data={"what": "x"})]) == ()


def test_streams_tell_which_candidates_a_run_left() -> None:
    event = make_event(EventKind.CANDIDATES_ADDED, 1, data={"candidate_ids": ["cand_1"]})
    frame = frame_of(event, event_id="7")
    assert frame is not None
    assert frame.event == "candidates_added"
    read = READERS[frame.event](dict(frame.data))
    assert isinstance(read, CandidatesAdded)
    assert (read.session_id, read.candidate_ids) == ("s1", ["cand_1"])


def test_a_hint_reaches_clients_and_no_prompt() -> None:
    event = make_event(EventKind.HINT, 1, data={"code": "x", "text": "switch it on"})
    frame = frame_of(event, event_id="7")
    assert frame is not None
    assert frame.event == "hint"
    read = READERS[frame.event](dict(frame.data))
    assert isinstance(read, Hint)
    assert (read.code, read.text) == ("x", "switch it on")
    assert EventKind.HINT not in TRANSCRIPT_KINDS
    assert pieces_of([event]) == ()

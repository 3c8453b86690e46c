"""Candidates are kept as they are, each proposal once, and found by what a list asks for."""

from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from tests.contract.conftest import UnitsOnDatabase
from tests.support.candidate_factories import make_candidate, make_review
from tests.support.factories import NOW, ODD_TEXTS
from understudy.core.errors import DamagedRecord, Invalid, StaleVersion
from understudy.core.page import PageRequest, decode_cursor
from understudy.learnings.model import (
    EXPIRED,
    OPEN,
    Candidate,
    CandidateFilter,
    CandidateState,
    CandidateTally,
    CapturePath,
    EvidenceRef,
    JudgeVerdict,
    Kind,
    LearningSource,
    Origin,
    ReviewAction,
    Sensitivity,
)
from understudy.sessions.learning_scopes import WORKSPACE, session_scope
from understudy.storage.schema import learning_candidates
from understudy.storage.unit import Units

HERE = session_scope("s1")
WAITING = CandidateFilter(waiting=True)
FULL = make_candidate(
    "The gate code is on the door.",
    scope=HERE,
    sensitivity=Sensitivity.SENSITIVE,
    confidence=7,
    source=LearningSource(
        run_id="run_1",
        session_id="s1",
        agent_id="a1",
        input_event_offset=3,
        observation_id="o",
        derivation_id="d",
    ),
    evidence_refs=(EvidenceRef(run_id="run_1", artifact_id="art_1", note="said so"), EvidenceRef()),
    expires_at_ms=NOW + 5,
    state=CandidateState.PUBLISHED,
    derived_from_untrusted=True,
    reproposal_of="cand_0",
    evidence_digest="abc",
    automation_review=make_review(
        "Facts", judge=JudgeVerdict(action=ReviewAction.REJECT, judged_at_ms=NOW, reason="odd")
    ),
    published_learning_id="lrn_1",
    decided_at_ms=NOW + 2,
    decided_by="alice",
    decision_reason="it is so",
    version=4,
)


@pytest.fixture
def units(empty_database: UnitsOnDatabase) -> Units:
    return empty_database.units


def add(units: Units, *candidates: Candidate) -> list[bool]:
    with units.write() as unit:
        return [unit.candidates.add(candidate) for candidate in candidates]


def listed(units: Units, *, now_ms: int = NOW, **narrowed: Any) -> list[str]:
    with units.read() as unit:
        page = unit.candidates.page(
            PageRequest(), narrowed=CandidateFilter(**narrowed), now_ms=now_ms
        )
    return [candidate.candidate_id for candidate in page.items]


def damage(database: UnitsOnDatabase, candidate: Candidate, body: str) -> None:
    with database.engine.begin() as connection:
        torn = sa.update(learning_candidates).where(
            learning_candidates.c.candidate_id == candidate.candidate_id
        )
        connection.execute(torn.values(body=sa.literal_column(body)))


def test_a_candidate_comes_back_as_it_was_put(units: Units) -> None:
    bare = make_candidate()
    assert add(units, FULL, bare) == [True, True]

    with units.write() as unit:
        for candidate in (FULL, bare):
            assert unit.candidates.get(candidate.candidate_id) == candidate
            assert unit.candidates.get(candidate.candidate_id, lock=True) == candidate
        assert unit.candidates.get("cand_none") is None


def test_odd_texts_come_back_as_they_were(units: Units) -> None:
    candidates = {
        odd: make_candidate(odd, evidence_refs=(EvidenceRef(note=odd),), decision_reason=odd)
        for odd in ODD_TEXTS.values()
    }
    add(units, *candidates.values())

    for odd, candidate in candidates.items():
        with units.read() as unit:
            assert unit.candidates.get(candidate.candidate_id) == candidate
        assert listed(units, query=odd) == [candidate.candidate_id]


def test_a_change_stands_only_if_nobody_else_made_one(units: Units) -> None:
    candidate = make_candidate()
    add(units, candidate)
    changed = replace(
        candidate, state=CandidateState.REJECTED, decided_by="alice", decided_at_ms=NOW, version=2
    )
    with units.write() as unit:
        unit.candidates.update(changed, expected_version=1)

    with units.write() as unit:
        assert unit.candidates.get(candidate.candidate_id) == changed
        with pytest.raises(StaleVersion):
            unit.candidates.update(changed, expected_version=1)


def test_a_run_proposes_the_same_thing_only_once(units: Units) -> None:
    first = make_candidate("The sky is blue.", run_id="run_1")
    others = (
        make_candidate("The sky is blue.", run_id="run_2"),
        make_candidate("The sky is blue.", run_id="run_1", kind=Kind.DECISION),
        make_candidate("The sky is blue.", run_id="run_1", scope=HERE),
        make_candidate("The sky is green.", run_id="run_1"),
        make_candidate("The sky is blue.", run_id="run_1", origin=Origin.API),
        make_candidate("The sky is blue.", source=LearningSource()),
        make_candidate("The sky is blue.", source=LearningSource()),
    )
    assert add(units, first, make_candidate("sky: BLUE", run_id="run_1")) == [True, False]

    assert add(units, *others) == [True] * len(others)


def test_a_run_has_one_summary_whatever_it_says(units: Units) -> None:
    def summary(content: str, run_id: str) -> Candidate:
        return make_candidate(content, run_id=run_id, kind=Kind.RUN_SUMMARY, scope=HERE)

    first, second, other = summary("a", "run_1"), summary("b", "run_1"), summary("a", "run_2")

    assert add(units, first, second, other) == [True, False, True]
    assert listed(units) == [first.candidate_id, other.candidate_id]


def test_candidates_are_listed_by_id_in_pages(units: Units) -> None:
    candidates = [make_candidate(f"Number {n} is here") for n in range(5)]
    add(units, *reversed(candidates))
    request, found = PageRequest(limit=2), []
    while True:
        with units.read() as unit:
            page = unit.candidates.page(request, narrowed=CandidateFilter(), now_ms=NOW)
        found.append([candidate.candidate_id for candidate in page.items])
        if page.next_cursor is None:
            break
        request = PageRequest(limit=2, after=decode_cursor(page.next_cursor))

    ids = [candidate.candidate_id for candidate in candidates]
    assert found == [ids[:2], ids[2:4], ids[4:]]


def test_a_cursor_of_another_list_is_refused(units: Units) -> None:
    request = PageRequest(after=(3, "cand_1"))
    with units.read() as unit, pytest.raises(Invalid):
        unit.candidates.page(request, narrowed=CandidateFilter(), now_ms=NOW)


def test_a_list_is_narrowed_by_scope_kind_and_state(units: Units) -> None:
    plain = make_candidate()
    here = make_candidate(scope=HERE)
    decision = make_candidate(kind=Kind.DECISION)
    escalated = make_candidate(state=CandidateState.ESCALATED)
    add(units, plain, here, decision, escalated)

    assert listed(units, scope=HERE) == [here.candidate_id]
    assert listed(units, kind=Kind.DECISION) == [decision.candidate_id]
    assert listed(units, state=CandidateState.ESCALATED) == [escalated.candidate_id]
    assert listed(units, scope=HERE, kind=Kind.DECISION) == []


FOUND = (
    "GATE",
    "Đường phố",
    "đƯỜNG PHỐ",
    "STRASSE",
    "100%_\\",
    "%",
    "session:S1",
    "FACT",
    "RUN_77",
    "CAND_7",
)
NOT_FOUND = ("100_", "fact\nthe", "fact\x1fthe", "factthe", "elsewhere", "x" * 60_000)


def test_a_query_is_looked_for_whatever_its_case(units: Units) -> None:
    add(
        units,
        make_candidate(
            "The gate\x1fof Đường phố, Straße, is open 100%_\\ of the day.",
            candidate_id="cand_7",
            run_id="run_77",
            scope=HERE,
        ),
    )

    assert [query for query in FOUND if listed(units, query=query) != ["cand_7"]] == []
    assert [query for query in NOT_FOUND if listed(units, query=query)] == []


def test_an_open_candidate_past_its_time_is_not_listed(units: Units) -> None:
    candidates = [make_candidate(state=state, expires_at_ms=NOW) for state in CandidateState]
    add(units, *candidates)
    closed = [each.candidate_id for each in candidates if each.state not in OPEN]

    assert listed(units, now_ms=NOW - 1) == [each.candidate_id for each in candidates]
    assert listed(units) == closed


def test_the_open_ones_come_in_order_and_without_those_past_their_time(units: Units) -> None:
    pending, escalated, late = (
        make_candidate("One is here"),
        make_candidate(state=CandidateState.ESCALATED),
        make_candidate("Three is here", expires_at_ms=NOW),
    )
    rejected, last = make_candidate(state=CandidateState.REJECTED), make_candidate("5 is here")
    add(units, pending, escalated, late, rejected, last)

    with units.read() as unit:
        store = unit.candidates
        assert store.next_for_review(after=None, now_ms=NOW) == (pending, 2)
        assert store.next_for_review(after=pending.candidate_id, now_ms=NOW) == (escalated, 1)
        assert store.next_for_review(after=escalated.candidate_id, now_ms=NOW) == (last, 0)
        assert store.next_for_review(after=last.candidate_id, now_ms=NOW) == (None, 0)
        assert store.open_ones(after=None, limit=2, now_ms=NOW) == (pending, escalated)
        rest = store.open_ones(after=escalated.candidate_id, limit=9, now_ms=NOW)
        assert rest == (last,)
        assert store.expired(now_ms=NOW, limit=9) == ((NOW, late.candidate_id),)
        assert store.expired(now_ms=NOW - 1, limit=9) == ()


def test_what_prompts_can_be_told_of_is_reviewed_first_and_summaries_last(units: Units) -> None:
    summary = make_candidate(kind=Kind.RUN_SUMMARY, sensitivity=Sensitivity.SENSITIVE)
    hidden = make_candidate("A is b", sensitivity=Sensitivity.SENSITIVE)
    procedure = make_candidate("Do this", kind=Kind.PROCEDURE)
    fact, wish = make_candidate("C is d"), make_candidate("E is f", kind=Kind.PREFERENCE)
    expected = [fact, wish, procedure, hidden, summary]
    add(units, summary, hidden, procedure, fact, wish)

    with units.read() as unit:
        after, seen = None, []
        while (found := unit.candidates.next_for_review(after=after, now_ms=NOW))[0]:
            seen.append(found)
            after = found[0].candidate_id
        first = unit.candidates.page(PageRequest(limit=3), narrowed=WAITING, now_ms=NOW)
        cursor = PageRequest.parse(limit=3, cursor=first.next_cursor)
        rest = unit.candidates.page(cursor, narrowed=WAITING, now_ms=NOW)

    assert seen == [(each, 4 - number) for number, each in enumerate(expected)]
    assert [*first.items, *rest.items] == expected


def test_a_filter_narrows_the_queue_and_its_count(units: Units) -> None:
    facts = [make_candidate(f"{number} is here") for number in range(2)]
    add(units, make_candidate("Do this", kind=Kind.PROCEDURE), *facts)

    with units.read() as unit:
        narrowed = CandidateFilter(kind=Kind.FACT)
        found = unit.candidates.next_for_review(after=None, now_ms=NOW, narrowed=narrowed)

    assert found == (facts[0], 1)


def test_a_snoozed_candidate_is_left_out_of_the_queue_until_its_time(units: Units) -> None:
    asleep = make_candidate(snoozed_until_ms=NOW + 1)
    add(units, asleep)

    with units.read() as unit:
        assert unit.candidates.next_for_review(after=None, now_ms=NOW) == (None, 0)
        assert unit.candidates.next_for_review(after=None, now_ms=NOW + 1) == (asleep, 0)
        listed = unit.candidates.page(PageRequest(), narrowed=WAITING, now_ms=NOW)
    assert listed.items == (asleep,)


def test_those_whose_time_was_over_first_are_found_first(units: Units) -> None:
    times = {"cand_1": NOW - 1, "cand_2": NOW - 3, "cand_3": NOW - 2, "cand_4": NOW - 2}
    add(units, *(make_candidate(candidate_id=key, expires_at_ms=ms) for key, ms in times.items()))
    add(units, make_candidate(expires_at_ms=NOW - 9, state=CandidateState.PUBLISHED))

    with units.read() as unit:
        first = unit.candidates.expired(now_ms=NOW, limit=2)
        rest = unit.candidates.expired(now_ms=NOW, limit=9, after=first[-1])

    assert first == ((NOW - 3, "cand_2"), (NOW - 2, "cand_3"))
    assert rest == ((NOW - 2, "cand_4"), (NOW - 1, "cand_1"))


def test_what_the_daemon_proposed_from_a_run_is_found_in_order(units: Units) -> None:
    first = make_candidate("One is here", run_id="run_1", state=CandidateState.REJECTED)
    second = make_candidate("Two is here", run_id="run_1")
    add(units, second, first, make_candidate(run_id="run_2"))
    add(units, make_candidate(run_id="run_1", origin=Origin.API))

    with units.read() as unit:
        assert unit.candidates.of_run("run_1") == (first, second)
        assert unit.candidates.of_run("run_9") == ()


def rejected(by: str, at_ms: int, **fields: Any) -> Candidate:
    return make_candidate(
        state=CandidateState.REJECTED, decided_by=by, decided_at_ms=at_ms, **fields
    )


def test_what_people_rejected_is_remembered_by_scope_kind_and_key(units: Units) -> None:
    older, newer = rejected("alice", NOW), rejected("bob", NOW + 1)
    add(units, newer, older, rejected("daemon", NOW), rejected("alice", NOW, scope=HERE))
    add(units, rejected("alice", NOW, kind=Kind.DECISION), make_candidate())
    add(units, rejected("alice", NOW, content="The gate code is lost."))

    with units.read() as unit:
        found = unit.candidates.rejected_by_people(WORKSPACE, Kind.FACT, older.semantic_key)
    assert found == (newer, older)


def test_no_more_than_fifty_rejections_are_remembered(units: Units) -> None:
    add(units, *(rejected("alice", NOW + number) for number in range(52)))

    with units.read() as unit:
        found = unit.candidates.rejected_by_people(
            WORKSPACE, Kind.FACT, make_candidate().semantic_key
        )
    assert [candidate.decided_at_ms for candidate in found] == [NOW + n for n in range(51, 1, -1)]


def test_the_oldest_open_one_that_the_daemon_proposed_with_a_key_is_found(units: Units) -> None:
    escalated = make_candidate(state=CandidateState.ESCALATED, created_at_ms=NOW + 1)
    late, oldest = make_candidate(expires_at_ms=NOW), make_candidate()
    by_somebody = make_candidate(origin=Origin.API, created_at_ms=NOW - 1)
    add(units, late, by_somebody, escalated, oldest, rejected("alice", NOW))
    add(units, make_candidate(scope=HERE))

    def found(kind: Kind = Kind.FACT) -> Candidate | None:
        with units.read() as unit:
            return unit.candidates.proposed_with_key(
                WORKSPACE, kind, oldest.semantic_key, now_ms=NOW
            )

    assert found() == oldest
    assert found(Kind.PREFERENCE) is None


def test_what_was_decided_since_a_time_comes_newest_first(units: Units) -> None:
    decided = [rejected("alice", NOW + number, content=f"{number} is it") for number in range(4)]
    add(units, *decided, make_candidate())

    with units.read() as unit:
        assert unit.candidates.decided_since(NOW + 2, limit=9) == (decided[3], decided[2])
        assert unit.candidates.decided_since(0, limit=1) == (decided[3],)


def test_candidates_are_counted_by_path_rule_state_and_who_decided(units: Units) -> None:
    review = make_review("Facts")
    add(units, make_candidate("1 is it"), make_candidate("2 is it"))
    add(units, rejected("alice", NOW, automation_review=review))
    add(units, rejected("daemon", NOW, automation_review=review))
    add(units, rejected("daemon", NOW, automation_review=review, decision_reason=EXPIRED))
    add(units, make_candidate(capture_path=CapturePath.LABELS))

    def tally(
        state: str, rule: str | None = None, path: str = "model", **more: Any
    ) -> CandidateTally:
        values = {"is_automatic": False, "count": 1} | more
        return CandidateTally(capture_path=path, rule=rule, state=state, **values)

    with units.read() as unit:
        assert set(unit.candidates.tallies()) == {
            tally("pending", count=2),
            tally("rejected", "Facts"),
            tally("rejected", "Facts", is_automatic=True),
            tally("rejected", "Facts", is_automatic=True, is_expired=True),
            tally("pending", path="labels"),
        }


def test_the_name_of_a_rule_may_be_as_long_as_it_likes(units: Units) -> None:
    named = make_candidate(automation_review=make_review("\U0001f9ff" * 5_000))
    add(units, named)

    with units.read() as unit:
        assert unit.candidates.get(named.candidate_id) == named
        [tally] = unit.candidates.tallies()
    assert tally.rule == "\U0001f9ff" * 200


DAMAGE = ("'{torn'", "'[]'", "'{}'", "'null'", """'{"content":3}'""")


def test_a_damaged_candidate_hides_no_other(empty_database: UnitsOnDatabase) -> None:
    units = empty_database.units
    torn, sound = make_candidate("1 is it", run_id="run_1"), make_candidate("2 is it")
    add(units, torn, sound)

    for body in DAMAGE:
        damage(empty_database, torn, body)
        with capture_logs() as logged, units.read() as unit:
            page = unit.candidates.page(PageRequest(), narrowed=CandidateFilter(), now_ms=NOW)
            assert page.items == (sound,)
            assert unit.candidates.next_for_review(after=None, now_ms=NOW) == (sound, 0)
            assert unit.candidates.open_ones(after=None, limit=1, now_ms=NOW) == (sound,)
            assert unit.candidates.of_run("run_1") == ()
            with pytest.raises(DamagedRecord, match=torn.candidate_id):
                unit.candidates.get(torn.candidate_id)
        assert len(logged) == 4
        assert all(torn.candidate_id in entry["detail"] for entry in logged)


def test_every_pending_candidate_is_queued_anew_and_claims_are_lost(units: Units) -> None:
    held, waiting = make_candidate("1 is it"), make_candidate("2 is it")
    new, escalated = make_candidate("3 is it"), make_candidate(state=CandidateState.ESCALATED)
    add(units, held, waiting, new, escalated)
    with units.write() as unit:
        unit.review_queue.put([held.candidate_id], due_at_ms=1)
        [job] = unit.review_queue.claim(now_ms=1, until_ms=NOW * 2, limit=1)
        unit.review_queue.put([waiting.candidate_id, "cand_gone"], due_at_ms=NOW * 2)
        assert unit.candidates.queue_pending(due_at_ms=NOW) == 3

    with units.write() as unit:
        assert not unit.review_queue.holds(job)
        assert not unit.review_queue.done(job)
        jobs = unit.review_queue.claim(now_ms=NOW, until_ms=NOW + 1, limit=9)
    assert [(job.job_id, job.attempts) for job in jobs] == [
        (candidate.candidate_id, 0) for candidate in (held, waiting, new)
    ]


def test_those_that_a_policy_has_reviewed_are_not_queued_again(units: Units) -> None:
    reviewed, held, new = (make_candidate(f"{number} is it") for number in range(3))
    add(units, reviewed, held, new)
    with units.write() as unit:
        unit.reviews.put(reviewed.candidate_id, "this", make_review())
        unit.reviews.put(new.candidate_id, "another", make_review())
        unit.review_queue.put([held.candidate_id], due_at_ms=1)
        [job] = unit.review_queue.claim(now_ms=1, until_ms=NOW * 2, limit=1)
        assert unit.candidates.queue_pending(due_at_ms=NOW, unreviewed_under="this") == 1

    with units.write() as unit:
        assert unit.review_queue.holds(job)
        [found] = unit.review_queue.claim(now_ms=NOW, until_ms=NOW + 1, limit=9)
    assert found.job_id == new.candidate_id

"""Searching memories and looking at them, on both databases."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.factories import (
    NOW,
    bound,
    make_member,
    make_persona,
    make_project,
    make_run,
)
from tests.support.learning_factories import keep, make_learning
from tests.support.run_harness import no_skills
from tests.support.run_memory_harness import (
    RunMemoryHarness,
    archive_of,
    make_evidence,
    make_record,
)
from understudy.core.errors import Invalid, NotFound
from understudy.core.page import PageRequest
from understudy.memory.policy import policy_in
from understudy.retrieval.inspection import MemoryInspection, Reader
from understudy.retrieval.rarity import SCAN_LIMIT
from understudy.retrieval.recovered import RunReason
from understudy.retrieval.search import SearchAnswer
from understudy.runs.model import RunStatus
from understudy.sessions.learning_scopes import LearningScope, ScopeKind
from understudy.storage.unit import Units


@pytest.fixture
def archive(units: Units, tmp_path: Path) -> RunMemoryHarness:
    return archive_of(units, tmp_path)


@pytest.fixture
def inspection(archive: RunMemoryHarness) -> MemoryInspection:
    return MemoryInspection(
        archive.units, archive.clock, archive.keeper, no_skills(archive.units, archive.clock)
    )


def say(
    archive: RunMemoryHarness, run_id: str, text: str, session_id: str = "s1", **fields: Any
) -> None:
    """A run that was asked something and is remembered."""
    archive.clock.advance(1000)
    said = {"summary": f"Request: {text}", "request_preview": text, "outcome_preview": None}
    archive.keep(run_id, session_id, **(said | fields))


def ids(answer: SearchAnswer) -> list[str]:
    return [result.source_id for result in answer.results]


def test_the_best_come_first_and_equals_by_time_then_id(
    archive: RunMemoryHarness, inspection: MemoryInspection
) -> None:
    say(archive, "phrase", "the launch codename is Atlas")
    say(archive, "words", "codename of the launch, Atlas it was")
    say(archive, "one", "an atlas of the world")
    say(archive, "nothing", "peel a banana")
    archive.keep("twin-b", summary="Request: an atlas of the world", request_preview="x")
    archive.keep("twin-a", summary="Request: an atlas of the world", request_preview="x")

    assert ids(inspection.search(Reader(session_id="s1"), "launch codename is atlas", None))[
        :2
    ] == ["phrase", "words"]
    by_time = ids(inspection.search(Reader(session_id="s1"), "world", None))
    assert by_time.index("twin-a") + 1 == by_time.index("twin-b")
    assert "nothing" not in ids(inspection.search(Reader(session_id="s1"), "atlas", 50))


def test_a_published_fact_comes_before_runs_that_have_its_words_in_more_fields(
    archive: RunMemoryHarness, inspection: MemoryInspection
) -> None:
    for number in range(14):
        text = f"Is build {number} on the release branch?"
        say(archive, f"r{number:02}", text, outcome_preview=f"Build {number}: release branch.")
    keep(archive.units, make_learning("The release branch is named harbour.", learning_id="fact"))

    found = inspection.search(Reader(session_id="s1"), "release branch", None).results

    assert found[0].source_id == "fact"
    assert len(found) == 12
    assert found[0].score > found[1].score > 0


def test_a_repeated_question_does_not_crowd_out_its_answer(
    archive: RunMemoryHarness, inspection: MemoryInspection
) -> None:
    asked = "Why does my VPN drop?"
    say(archive, "answer", asked, outcome_preview="The MTU of the tunnel was 1500; 1380 holds.")
    for number in range(3):
        say(archive, f"again{number}", asked, outcome_preview="Let me look into it.")
    say(archive, "port9", "Open port 9 of the VPN", outcome_preview="Done.")
    say(archive, "port8", "Open port 8 of the VPN", outcome_preview="Done.")

    found = inspection.context(Reader(session_id="s1"), asked).recovered
    reasons = {it.run_id: it.reason for it in found.considered}

    assert [it.run_id for it in found.kept][:2] == ["again2", "answer"]
    assert reasons["again1"] is reasons["again0"] is RunReason.NEAR_DUPLICATE
    assert RunReason.NEAR_DUPLICATE not in (reasons["port8"], reasons["port9"])


def test_browsing_is_by_time_and_bounded(
    archive: RunMemoryHarness, inspection: MemoryInspection
) -> None:
    archive.keep_some(*(f"r{number:02}" for number in range(14)))

    answer = inspection.search(Reader(session_id="s1"), None, None)

    assert ids(answer) == [f"r{number:02}" for number in range(13, 1, -1)]
    assert answer.truncated
    assert answer.query is None
    assert {result.score for result in answer.results} == {0}
    assert len(inspection.search(Reader(session_id="s1"), "", 0).results) == 1
    everything = inspection.search(Reader(session_id="s1"), " \n", 500)
    assert (len(everything.results), everything.truncated) == (14, False)
    assert inspection.search(Reader(session_id="s1"), None, 14).truncated is False


def test_projects_are_searched_only_when_the_policy_says_so(
    archive: RunMemoryHarness, inspection: MemoryInspection
) -> None:
    with archive.units.write() as unit:
        members = (make_member("s1"), make_member("s2"))
        unit.projects.add(make_project("p", members=members))
    shared = ("session:s2", "project:p", "workspace:default")
    say(archive, "own", "a shared errand")
    say(archive, "theirs", "a shared errand", "s2", scope_keys=shared)
    say(archive, "before", "a shared errand", "s2", scope_keys=("session:s2",))

    narrow = inspection.search(Reader(session_id="s1"), "errand", None)
    archive.set_policy(search_visibility="learning_scopes")
    wide = inspection.search(Reader(session_id="s1"), "errand", None)

    assert ids(narrow) == ["own"]
    assert ids(wide) == ["theirs", "own"]
    project = LearningScope(kind=ScopeKind.PROJECT, id="p")
    theirs, own = wide.results
    assert (theirs.scope, theirs.prompt_eligible) == (project, False)
    assert (own.scope, own.prompt_eligible) == (
        LearningScope(kind=ScopeKind.SESSION, id="s1"),
        True,
    )
    assert [scope.key for scope in wide.learning_scopes] == [
        "session:s1",
        "project:p",
        "workspace:default",
    ]
    assert [
        memory.run_id
        for memory in inspection.context(Reader(session_id="s1"), "errand").recovered.kept
    ] == ["own"]


def test_a_scope_that_is_no_longer_seen_shows_nothing(
    archive: RunMemoryHarness, inspection: MemoryInspection
) -> None:
    archive.set_policy(search_visibility="learning_scopes")
    scopes = ("session:s2", "persona:helper")
    say(archive, "theirs", "an errand", "s2", scope_keys=scopes)

    assert ids(inspection.search(Reader(session_id="s1"), "errand", None)) == []
    with archive.units.write() as unit:
        session = unit.sessions.get("s1")
        assert session is not None
        bound_now = replace(session, **bound(make_persona()), version=session.version + 1)
        unit.sessions.update(bound_now, expected_version=session.version)

    assert ids(inspection.search(Reader(session_id="s1"), "errand", None)) == ["theirs"]


def test_what_is_past_its_time_is_dropped_when_a_search_meets_it(
    archive: RunMemoryHarness, inspection: MemoryInspection
) -> None:
    archive.set_policy(retention_ms=1000)
    archive.keep("old")
    archive.clock.advance(600)
    archive.keep("young")
    archive.clock.advance(400)

    at_the_limit = inspection.search(Reader(session_id="s1"), None, None)
    archive.clock.advance(1)
    stale = archive.service.status(archive.clock.now_ms())["stale_indexed_record_count"]
    looked = inspection.context(Reader(session_id="s1"), None)
    kept_by_looking = archive.stored()
    answer = inspection.search(Reader(session_id="s1"), "hello", None)

    assert ids(at_the_limit) == ["young", "old"]
    assert stale == 1
    assert looked.recovered.ids(RunReason.EXPIRED) == ("old",)
    assert kept_by_looking == ["old", "young"]
    assert ids(answer) == ["young"]
    assert archive.stored() == archive.pointers() == ["young"]
    assert archive.counters.pruned_ttl_total == 1


def test_what_is_past_its_time_is_not_listed(
    archive: RunMemoryHarness, inspection: MemoryInspection
) -> None:
    archive.set_policy(retention_ms=1000)
    archive.keep("old")
    archive.clock.advance(600)
    archive.keep("young")
    archive.clock.advance(400)

    at_the_limit = inspection.records(PageRequest(), session_id=None)
    archive.clock.advance(1)
    after_it = inspection.records(PageRequest(), session_id="s1")

    assert [item.run_id for item in at_the_limit.items] == ["young", "old"]
    assert [item.run_id for item in after_it.items] == ["young"]


def test_a_title_and_an_excerpt_end_before_a_marker_or_behind_it(
    archive: RunMemoryHarness, inspection: MemoryInspection
) -> None:
    marker = "<redacted:email>"
    archive.keep(
        "r1", request_preview="a" * 75 + f" {marker}", summary="b" * 175 + f" {marker} and more"
    )

    [found] = inspection.search(Reader(session_id="s1"), None, None).results

    assert found.title == "a" * 75 + " …"
    assert found.excerpt == "b" * 175 + " …"


def test_a_missing_record_is_counted_and_stays_indexed(
    archive: RunMemoryHarness, inspection: MemoryInspection
) -> None:
    archive.keep_some("gone", "here")
    with archive.units.write() as unit:
        unit.run_memories.delete(["gone"])

    answer = inspection.search(Reader(session_id="s1"), None, None)

    assert ids(answer) == ["here"]
    assert archive.counters.skipped_unreadable_total == 1
    assert archive.pointers() == ["here", "gone"]
    page = inspection.records(PageRequest(), session_id="s1")
    assert [(item.run_id, item.summary is None) for item in page.items] == [
        ("here", False),
        ("gone", True),
    ]


def test_among_more_than_can_be_read_the_index_finds_what_fits(
    archive: RunMemoryHarness, inspection: MemoryInspection
) -> None:
    archive.set_policy(max_tracked_per_session=1000)
    say(archive, "needle", "the quixotic windmill")
    say(archive, "needle too", "another windmill, quixotic")
    with archive.units.write() as unit:
        policy = policy_in(unit)
        for number in range(SCAN_LIMIT):
            run_id = f"straw-{number:03}"
            at = NOW + 10_000 + number
            unit.runs.add(make_run(run_id=run_id, status=RunStatus.COMPLETED, finished_at_ms=at))
            record = make_record(run_id, recorded_at_ms=at)
            archive.keeper.keep(unit, record, make_evidence(run_id), policy=policy)

    found = inspection.search(Reader(session_id="s1"), "quixotic windmill", None)

    assert ids(found) == ["needle", "needle too"]
    hostile = ("".join(chr(0x4E00 + n) for n in range(4096)), " ".join(map(str, range(900))))
    for query in hostile:
        assert ids(inspection.search(Reader(session_id="s1"), query, None)) == []
    newest = inspection.search(Reader(session_id="s1"), None, 2)
    assert (ids(newest), newest.truncated) == (["straw-299", "straw-298"], True)


def test_a_session_that_is_not_there_is_not_found(inspection: MemoryInspection) -> None:
    for ask in (
        lambda: inspection.search(Reader(session_id="nobody"), "x", None),
        lambda: inspection.context(Reader(session_id="nobody"), "x"),
        lambda: inspection.report("nobody"),
    ):
        with pytest.raises(NotFound):
            ask()
    with pytest.raises(Invalid):
        inspection.search(Reader(session_id="s1"), "x" * 4097, None)


def test_records_are_listed_in_pages(
    archive: RunMemoryHarness, inspection: MemoryInspection
) -> None:
    archive.keep_some("a1", "a2", "a3")
    archive.keep_some("b1", session_id="s2")

    first = inspection.records(PageRequest(limit=2), session_id=None)
    second = inspection.records(
        PageRequest.parse(limit=2, cursor=first.next_cursor), session_id=None
    )

    listed = [item.run_id for item in (*first.items, *second.items)]
    assert listed == ["b1", "a3", "a2", "a1"]
    assert second.next_cursor is None
    mine = inspection.records(PageRequest(), session_id="s2")
    assert [item.run_id for item in mine.items] == ["b1"]

"""Learnings are kept as they are, found by their words while they live, and listed as asked."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from tests.contract.conftest import UnitsOnDatabase
from tests.support.candidate_factories import make_candidate, make_review
from tests.support.factories import NOW, ODD_TEXTS
from tests.support.learning_factories import PERSONA, PROJECT, SESSION, keep, make_learning
from understudy.core.errors import DamagedRecord, DatabaseUnavailable, StaleVersion
from understudy.core.page import PageRequest, decode_cursor
from understudy.learnings.model import (
    LIVE,
    TERM_KIND,
    EvidenceRef,
    Kind,
    Learning,
    LearningFilter,
    LearningSource,
    LearningStatus,
    PolicyDecision,
    Sensitivity,
    Tier,
    Verification,
)
from understudy.learnings.visibility import prompt_key
from understudy.sessions.learning_scopes import WORKSPACE, LearningScope, ScopeKind
from understudy.storage.schema import learnings
from understudy.storage.unit import Units

FULL = make_learning(
    scope=LearningScope(kind=ScopeKind.PROJECT, id="with:colon"),
    sensitivity=Sensitivity.SENSITIVE,
    confidence=9,
    source=LearningSource(run_id="run_1", session_id="s1", input_event_offset=2),
    evidence_refs=(EvidenceRef(run_id="run_1", note="said so"),),
    source_candidate_id="cand_1",
    expires_at_ms=NOW + 9,
    status=LearningStatus.REVOKED,
    publish_tier=Tier.PROVISIONAL,
    policy_decision=PolicyDecision.AUTOMATIC,
    policy_actor="daemon",
    verification_status=Verification.VERIFIED,
    derived_from_untrusted=True,
    supersedes="lrn_0",
    superseded_by="lrn_2",
    revoked_at_ms=NOW + 7,
    revoked_reason="it was wrong",
    version=3,
)
BARE = make_learning("Nothing", policy_decision=None, policy_actor=None)


@pytest.fixture
def units(empty_database: UnitsOnDatabase) -> Units:
    return empty_database.units


def listed(units: Units, **narrowed: Any) -> list[str]:
    wanted = LearningFilter(**narrowed)
    with units.read() as unit:
        page = unit.learnings.page(PageRequest(), narrowed=wanted)
        assert page.items == unit.learnings.matching(wanted, limit=99)
    return [learning.learning_id for learning in page.items]


def found(units: Units, term: str, key: str = WORKSPACE.key) -> list[str]:
    with units.read() as unit:
        candidates = unit.term_index.candidates(TERM_KIND, scopes=[key], terms=[term], limit=9)
    return [candidate.source_id for candidate in candidates]


def update(units: Units, learning: Learning, **fields: Any) -> Learning:
    changed = replace(learning, version=learning.version + 1, **fields)
    with units.write() as unit:
        unit.learnings.update(changed, expected_version=learning.version)
    return changed


def test_a_learning_comes_back_as_it_was_put(units: Units) -> None:
    keep(units, FULL, BARE)

    with units.write() as unit:
        for learning in (FULL, BARE):
            assert unit.learnings.get(learning.learning_id) == learning
            assert unit.learnings.get(learning.learning_id, lock=True) == learning
            readable = unit.learnings.readable([learning.learning_id, "lrn_none"])
            assert readable == {learning.learning_id: learning}
        assert unit.learnings.get("lrn_none") is None


def test_odd_texts_come_back_as_they_were(units: Units) -> None:
    learnt = {
        odd: make_learning(odd, policy_actor=odd.strip(), revoked_reason=odd)
        for odd in ODD_TEXTS.values()
    }
    keep(units, *learnt.values())

    for odd, learning in learnt.items():
        with units.read() as unit:
            assert unit.learnings.get(learning.learning_id) == learning
        assert listed(units, query=odd, policy_actor=odd) == [learning.learning_id]


def test_a_change_stands_only_if_nobody_else_made_one(units: Units) -> None:
    learning = make_learning()
    keep(units, learning)
    changed = update(units, learning, status=LearningStatus.REVOKED, revoked_at_ms=NOW)

    with units.read() as unit:
        assert unit.learnings.get(learning.learning_id) == changed
    with pytest.raises(StaleVersion):
        update(units, learning, status=LearningStatus.SUPERSEDED)


def test_a_candidate_becomes_one_learning(units: Units) -> None:
    made, other = make_learning(source_candidate_id="cand_1"), make_learning()
    keep(units, made, other, make_learning())

    with units.read() as unit:
        assert unit.learnings.of_candidate("cand_1") == made
        assert unit.learnings.of_candidate("cand_2") is None
    with pytest.raises(sa.exc.IntegrityError):
        keep(units, make_learning(source_candidate_id="cand_1"))


def test_only_what_is_live_is_found_by_its_words(units: Units) -> None:
    learning = make_learning("The heron is grey.")
    keep(units, learning)
    assert found(units, "heron") == [learning.learning_id]
    assert found(units, "heron", SESSION.key) == []
    assert found(units, "heron", prompt_key(WORKSPACE)) == [learning.learning_id]

    # Back and forth, which no service does, to see each of them come and go.
    for status in (*LearningStatus, *reversed(LearningStatus)):
        tier = Tier.PROVISIONAL if status is LearningStatus.PROVISIONAL else Tier.ACTIVE
        learning = update(units, learning, status=status, publish_tier=tier)
        assert bool(found(units, "heron")) is (status in LIVE)
        in_prompt = found(units, "heron", prompt_key(WORKSPACE))
        assert bool(in_prompt) is (status is LearningStatus.ACTIVE)


def test_what_is_not_live_from_the_first_is_not_indexed(units: Units) -> None:
    keep(units, make_learning("The heron is grey.", status=LearningStatus.REVOKED))
    keep(units, make_learning("The heron is old.", sensitivity=Sensitivity.SENSITIVE))

    assert found(units, "heron") == []


def test_a_learning_is_found_by_what_it_says_now_and_when_it_was_published(units: Units) -> None:
    learning = make_learning("The heron is grey.", published_at_ms=NOW + 5)
    keep(units, learning)
    update(units, learning, content="The stork is white.", scope=SESSION)

    assert (found(units, "heron"), found(units, "stork")) == ([], [])
    with units.read() as unit:
        [candidate] = unit.term_index.candidates(
            TERM_KIND, scopes=[SESSION.key], terms=["stork"], limit=9
        )
    assert (candidate.source_id, candidate.at_ms) == (learning.learning_id, NOW + 5)


def test_learnings_are_listed_by_id_in_pages(units: Units) -> None:
    learnt = [make_learning(f"Number {n} is here") for n in range(5)]
    keep(units, *reversed(learnt))
    ids = [learning.learning_id for learning in learnt]
    with units.read() as unit:
        first = unit.learnings.page(PageRequest(limit=3), narrowed=LearningFilter())
        assert first.next_cursor is not None
        after = PageRequest(limit=3, after=decode_cursor(first.next_cursor))
        rest = unit.learnings.page(after, narrowed=LearningFilter())

        assert [learning.learning_id for learning in first.items] == ids[:3]
        assert [learning.learning_id for learning in rest.items] == ids[3:]
        assert rest.next_cursor is None
        some = unit.learnings.matching(LearningFilter(), limit=2)
        assert [learning.learning_id for learning in some] == ids[:2]


FILTERS: dict[str, dict[str, Any]] = {
    "scope": {"scope": PROJECT},
    "kind": {"kind": Kind.DECISION},
    "status": {"status": LearningStatus.SUPERSEDED},
    "decision": {"policy_decision": PolicyDecision.AUTOMATIC},
    "actor": {"policy_actor": "JOSÉ"},
    "rule": {"matched_rule_name": "tên QUY TẮC"},
    "content": {"query": "WANTED is"},
    "id": {"query": "LRN_W"},
    "scope key": {"query": "Project:Gar"},
    "kind as words": {"query": "DECISION"},
    "run": {"query": "Run_W"},
    "all at once": {"scope": PROJECT, "kind": Kind.DECISION, "query": "wanted"},
}


def test_a_list_shows_what_meets_every_part_of_its_filter(units: Units) -> None:
    candidate = make_candidate(automation_review=make_review("Tên quy tắc"))
    other = make_candidate("Two is it", automation_review=make_review("Tên quy"))
    with units.write() as unit:
        unit.candidates.add(candidate)
        unit.candidates.add(other)
    wanted = make_learning(
        "What is Wanted is here.",
        learning_id="lrn_wanted",
        scope=PROJECT,
        kind=Kind.DECISION,
        status=LearningStatus.SUPERSEDED,
        policy_decision=PolicyDecision.AUTOMATIC,
        policy_actor="José",
        source_candidate_id=candidate.candidate_id,
        source=LearningSource(run_id="run_wanted"),
    )
    keep(units, wanted, make_learning(source_candidate_id=other.candidate_id))
    keep(units, make_learning("no", source_candidate_id="cand_gone"), BARE)

    for name, narrowed in FILTERS.items():
        assert listed(units, **narrowed) == ["lrn_wanted"], name
        assert listed(units, **(narrowed | {"scope": PERSONA})) == [], name
    assert len(listed(units)) == 4


def test_a_live_learning_is_found_by_scope_kind_and_key(units: Units) -> None:
    older, newer = make_learning(), make_learning(published_at_ms=NOW + 1)
    provisional = make_learning(
        status=LearningStatus.PROVISIONAL, publish_tier=Tier.PROVISIONAL, published_at_ms=NOW - 1
    )
    keep(units, newer, older, provisional, make_learning(scope=SESSION), BARE)
    keep(units, make_learning(kind=Kind.DECISION), make_learning(status=LearningStatus.REVOKED))

    with units.read() as unit:
        with_key = unit.learnings.with_key(WORKSPACE, Kind.FACT, older.semantic_key)
        assert with_key == (newer, older, provisional)
        assert unit.learnings.with_key(WORKSPACE, Kind.FACT, "another") == ()


def about(content: str, at_ms: int, **fields: Any) -> Learning:
    return make_learning(f"The sky is {content}.", published_at_ms=NOW + at_ms, **fields)


def test_active_learnings_about_a_subject_come_newest_first(units: Units) -> None:
    blue, green, red = about("blue", 1), about("green", 3, scope=SESSION), about("red", 2)
    provisional = about("grey", 9, status=LearningStatus.PROVISIONAL, publish_tier=Tier.PROVISIONAL)
    keep(units, blue, green, red, provisional, about("black", 5, kind=Kind.DECISION), BARE)
    keep(units, about("gone", 6, status=LearningStatus.SUPERSEDED))

    with units.read() as unit:
        store = unit.learnings
        assert store.about(Kind.FACT, "sky", limit=9) == (green, red, blue)
        assert store.about(Kind.FACT, "sky", limit=2) == (green, red)
        assert store.about(Kind.FACT, "sky", limit=9, scopes=[WORKSPACE, WORKSPACE]) == (red, blue)
        assert store.about(Kind.FACT, "sky", limit=1, scopes=[WORKSPACE, SESSION]) == (green,)
        assert store.about(Kind.FACT, "sky", limit=9, scopes=[]) == ()
        assert store.about(Kind.FACT, "sea", limit=9) == ()


def test_subjects_are_looked_up_in_any_number_of_scopes(units: Units) -> None:
    sky = about("blue", 2)
    sea = make_learning(
        "The sea is deep.",
        scope=SESSION,
        status=LearningStatus.PROVISIONAL,
        publish_tier=Tier.PROVISIONAL,
        published_at_ms=NOW + 1,
    )
    sand = make_learning("The sand is hot.", kind=Kind.DECISION, published_at_ms=NOW + 3)
    keep(units, sky, sea, sand, about("red", 4, scope=PROJECT))
    keep(units, about("gone", 6, status=LearningStatus.REVOKED))
    many = [LearningScope(kind=ScopeKind.PERSONA, id=f"p{n}") for n in range(700)]
    subjects = ["sky", "sky", "sea", *(f"nothing {n}" for n in range(700)), "sand"]

    with units.read() as unit:
        on = unit.learnings.on_subjects
        assert on([WORKSPACE, *many, SESSION], subjects, limit=9) == (sand, sky, sea)
        assert on([WORKSPACE, *many, SESSION], subjects, limit=2) == (sand, sky)
        assert on([SESSION], ["sky"], limit=9) == ()
        assert on([], subjects, limit=9) == on([WORKSPACE], [], limit=9) == ()


def test_the_newest_live_replacement_is_found(units: Units) -> None:
    old, other = make_learning(), make_learning("Other is it")
    first = make_learning("1 is it", supersedes=old.learning_id, published_at_ms=NOW + 2)
    second = make_learning("2 is it", supersedes=old.learning_id, published_at_ms=NOW + 1)
    gone = make_learning(
        "3 is it",
        supersedes=old.learning_id,
        published_at_ms=NOW + 3,
        status=LearningStatus.REVOKED,
    )
    keep(units, old, other, first, second, gone)
    ids = [old.learning_id, other.learning_id, *(f"lrn_{n}" for n in range(600))]

    with units.read() as unit:
        assert unit.learnings.replacing(ids) == {old.learning_id: first}
        assert unit.learnings.replacing([]) == {}


def test_the_newest_of_each_scope_come_last_published_first(units: Units) -> None:
    learnt = [about(f"{n}", n, scope=scope) for n, scope in enumerate([WORKSPACE, SESSION] * 3)]
    keep(units, *learnt, about("elsewhere", 9, scope=PERSONA))
    keep(units, about("gone", 8, status=LearningStatus.REVOKED))

    with units.read() as unit:
        newest = unit.learnings.newest_in([SESSION, WORKSPACE, SESSION], limit=2)
        assert unit.learnings.newest_in([], limit=2) == ()
    assert newest == tuple(reversed(learnt[2:]))


def test_learnings_are_counted_by_status(units: Units) -> None:
    keep(units, make_learning(), BARE, FULL)

    with units.read() as unit:
        assert unit.learnings.count_by_status() == {"active": 2, "revoked": 1}


@pytest.mark.parametrize("torn", ["'{torn'", "'{}'"], ids=["no JSON", "empty"])
def test_a_damaged_learning_hides_no_other(empty_database: UnitsOnDatabase, torn: str) -> None:
    units = empty_database.units
    damaged, sound = about("blue", 2), about("green", 1, supersedes="lrn_0")
    keep(units, damaged, sound)
    with empty_database.engine.begin() as connection:
        spoil = sa.update(learnings).where(learnings.c.learning_id == damaged.learning_id)
        connection.execute(spoil.values(body=sa.literal_column(torn)))

    with capture_logs() as logged, units.read() as unit:
        store = unit.learnings
        assert store.matching(LearningFilter(), limit=9) == (sound,)
        assert store.page(PageRequest(), narrowed=LearningFilter()).items == (sound,)
        assert store.about(Kind.FACT, "sky", limit=9) == (sound,)
        assert store.newest_in([WORKSPACE], limit=9) == (sound,)
        ids = [damaged.learning_id, sound.learning_id]
        assert store.readable(ids) == {sound.learning_id: sound}
        assert store.replacing(["lrn_0"]) == {"lrn_0": sound}
        with pytest.raises(DamagedRecord, match=damaged.learning_id):
            store.get(damaged.learning_id)
    assert len(logged) == 5
    assert all(damaged.learning_id in entry["detail"] for entry in logged)


def test_a_learning_that_was_read_before_is_read_as_it_is_stored_now(
    empty_database: UnitsOnDatabase,
) -> None:
    units, first = empty_database.units, about("blue", 2)
    ids = [first.learning_id]
    keep(units, first)

    def read() -> dict[str, Learning]:
        with units.read() as unit:
            return unit.learnings.readable(ids)

    assert read() == read() == {first.learning_id: first}
    changed = replace(first, content="The sky is red", version=2)
    with units.write() as unit:
        unit.learnings.update(changed, expected_version=1)
    assert read() == {first.learning_id: changed}
    with empty_database.engine.begin() as connection:
        connection.execute(sa.update(learnings).values(body=sa.literal_column("'{}'")))
    assert read() == {}


@pytest.mark.postgres
def test_only_one_publishes_in_a_scope_at_a_time(empty_database: UnitsOnDatabase) -> None:
    units = empty_database.units
    if empty_database.engine.dialect.name == "sqlite":
        pytest.skip("SQLite has one writer at a time")

    def hold(scope: LearningScope) -> bool:
        with units.write() as unit:
            unit.connection.execute(sa.text("SET LOCAL lock_timeout = '100ms'"))
            unit.learnings.hold(scope)
            return True

    with units.write() as unit, ThreadPoolExecutor(1) as other:
        unit.learnings.hold(WORKSPACE)
        unit.learnings.hold(WORKSPACE)
        assert other.submit(hold, SESSION).result()
        with pytest.raises(DatabaseUnavailable):
            other.submit(hold, WORKSPACE).result()
    assert hold(WORKSPACE)

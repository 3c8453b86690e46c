"""The record of how an agent evolved, as far as each reader may know of it."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import ADMIN, ALICE, NOW, make_agent, make_file, make_run, make_session
from tests.support.skill_factories import make_skill, make_version
from understudy.core.errors import Invalid, NotFound
from understudy.core.page import PageRequest, decode_cursor
from understudy.core.principal import Principal, Role
from understudy.evolution.nudges import remark_event
from understudy.evolution.proposals import FileProposal, ProposalState
from understudy.evolution.record import (
    EntryKind,
    EvolutionEntry,
    EvolutionRecord,
    NudgeEntry,
    OfferEntry,
    OfferState,
    ProposalEntry,
    SkillVersionEntry,
    SoulVersionEntry,
)
from understudy.evolution.text_diff import text_diff
from understudy.runs.model import Run
from understudy.runs.requests import PersonRequest, RequestKind, RequestState
from understudy.skills.model import Visibility

VIC = Principal(user_id="vic", role=Role.VIEWER)


@pytest.fixture
def run(database: UnitsOnDatabase) -> Run:
    """A run of an agent that evolves, beside one of the built-in agent that nudges as well."""
    run, other = make_run("evolver", agent_id="evolver", run_id="run_1"), make_run(run_id="run_2")
    with database.units.write() as unit:
        unit.agents.add(make_agent("evolver"))
        unit.sessions.add(make_session("evolver", agent_id="evolver"))
        for each in (run, other):
            unit.runs.add(each)
            events = [remark_event(each, "70", step=14)]
            unit.journal.append(each.session_id, events, at_ms=NOW + 10)
    return run


def write_soul(database: UnitsOnDatabase, version: int, content: str, **fields: Any) -> None:
    with database.units.write() as unit:
        named: dict[str, Any] = {
            "agent_id": "evolver",
            "version": version,
            "created_at_ms": NOW + version,
        }
        unit.agents.add_file(make_file(content=content, **(named | fields)))


def record(
    database: UnitsOnDatabase,
    who: Principal = ALICE,
    kind: EntryKind | None = None,
    limit: int = 50,
) -> list[EvolutionEntry]:
    page = EvolutionRecord(database.units).page(who, "evolver", PageRequest(limit=limit), kind=kind)
    return list(page.items)


def make_offer(run: Run, **fields: Any) -> PersonRequest:
    values: dict[str, Any] = {
        "request_id": "off_1",
        "kind": RequestKind.OFFER,
        "run_id": run.run_id,
        "session_id": run.session_id,
        "call_key": "offer-1",
        "body": {"reason": "Keep it?", "purpose": "keep", "origin": "postscript"},
        "created_at_ms": NOW + 20,
        "user_id": "alice",
    }
    return PersonRequest(**(values | fields))


def make_proposal(run: Run, number: int = 1) -> FileProposal:
    return FileProposal(
        proposal_id=f"prop_{number}",
        agent_id="evolver",
        name="SOUL.md",
        content="Be cold.",
        base_version=1,
        state=ProposalState.PENDING,
        actor="alice",
        run_id=run.run_id,
        created_at_ms=NOW,
    )


def keep_skill(database: UnitsOnDatabase, run: Run, **fields: Any) -> None:
    skill = make_skill("weekly", **fields)
    with database.units.write() as unit:
        unit.skills.add(skill)
        for number in (1, 2):
            version = make_version(
                skill, number, run_id=run.run_id, created_at_ms=NOW + 30 + number
            )
            unit.skills.add_version(version)


def test_every_version_of_the_soul_is_there_with_what_it_changed(
    database: UnitsOnDatabase, run: Run
) -> None:
    write_soul(database, 1, "Be warm.\nBe brief.\n")
    write_soul(database, 2, "Be warm.\nBe very brief.\n", actor="ann", run_id=run.run_id)
    with database.units.write() as unit:
        unit.agents.add_file(make_file("IDENTITY.md", agent_id="evolver"))

    second, first = record(database, kind=EntryKind.SOUL_VERSION)

    assert isinstance(second, SoulVersionEntry)
    assert isinstance(first, SoulVersionEntry)
    assert (second.version, second.actor, second.run_id) == (2, "ann", run.run_id)
    assert "-Be brief.\n+Be very brief." in (second.diff or "")
    assert (first.diff or "").startswith("--- /dev/null")
    assert "+Be warm.\n+Be brief." in (first.diff or "")


def test_everything_stands_in_the_order_of_time_newest_first(
    database: UnitsOnDatabase, run: Run
) -> None:
    write_soul(database, 1, "Be warm.")
    with database.units.write() as unit:
        unit.requests.add(make_offer(run))
    keep_skill(database, run, visibility=Visibility.PUBLIC)

    found = record(database)

    assert [type(each) for each in found] == [
        SkillVersionEntry,
        SkillVersionEntry,
        OfferEntry,
        NudgeEntry,
        SoulVersionEntry,
    ]


def test_only_what_runs_of_this_agent_did_counts(database: UnitsOnDatabase, run: Run) -> None:
    [nudge] = record(database, kind=EntryKind.NUDGE)

    assert isinstance(nudge, NudgeEntry)
    assert nudge.run_id == run.run_id
    assert (nudge.nudge, nudge.step, nudge.locale) == ("70", 14, "en")


def test_an_offer_is_there_with_its_answer(database: UnitsOnDatabase, run: Run) -> None:
    answered: dict[str, Any] = {
        "state": RequestState.DENIED,
        "resolved_by": "alice",
        "resolution": {"via": "api"},
    }
    with database.units.write() as unit:
        unit.requests.add(make_offer(run))
        unit.requests.settle(replace(make_offer(run), **answered))
        approval = {"request_id": "apr_1", "kind": RequestKind.APPROVAL, "call_key": "other"}
        unit.requests.add(make_offer(run, **approval))

    [entry] = record(database, kind=EntryKind.OFFER)

    assert isinstance(entry, OfferEntry)
    assert (entry.state, entry.answered_by) == (OfferState.DECLINED, "alice")


def test_the_first_version_of_a_skill_is_told_from_those_that_change_it(
    database: UnitsOnDatabase, run: Run
) -> None:
    keep_skill(database, run, owner_id="alice")

    changed, created = record(database, kind=EntryKind.SKILL_VERSION)

    assert isinstance(changed, SkillVersionEntry)
    assert isinstance(created, SkillVersionEntry)
    assert [(it.version, it.created) for it in (changed, created)] == [(2, False), (1, True)]


@pytest.mark.parametrize(
    ("who", "visibility", "seen"),
    [
        (ALICE, Visibility.PRIVATE, 0),
        (VIC, Visibility.INTERNAL, 0),
        (VIC, Visibility.PUBLIC, 2),
        (ADMIN, Visibility.PRIVATE, 2),
    ],
)
def test_a_skill_that_the_reader_may_not_know_of_is_left_out(
    database: UnitsOnDatabase, run: Run, who: Principal, visibility: Visibility, seen: int
) -> None:
    keep_skill(database, run, owner_id="ann", visibility=visibility)

    assert len(record(database, who, EntryKind.SKILL_VERSION)) == seen


def test_what_waits_for_an_admin_only_admins_see(database: UnitsOnDatabase, run: Run) -> None:
    write_soul(database, 1, "Be warm.")
    with database.units.write() as unit:
        unit.proposals.add(make_proposal(run))

    [entry] = record(database, ADMIN, EntryKind.PROPOSAL)

    assert isinstance(entry, ProposalEntry)
    assert "-Be warm.\n+Be cold." in (entry.diff or "")
    assert record(database, ALICE, EntryKind.PROPOSAL) == []
    assert ProposalEntry not in {type(each) for each in record(database, ALICE)}
    assert ProposalEntry in {type(each) for each in record(database, ADMIN)}


def test_pages_hold_each_entry_once(database: UnitsOnDatabase, run: Run) -> None:
    # At one and the same moment, so that only what is unique keeps them apart.
    for version in range(1, 12):
        write_soul(database, version, f"Be {version}.", created_at_ms=NOW)
    keep_skill(database, run, visibility=Visibility.PUBLIC)
    service, request = EvolutionRecord(database.units), PageRequest(limit=3)
    seen: list[EvolutionEntry] = []
    while True:
        page = service.page(ALICE, "evolver", request)
        seen += page.items
        if page.next_cursor is None:
            break
        request = PageRequest(limit=3, after=decode_cursor(page.next_cursor))

    assert seen == record(database)
    assert len(seen) == 14
    souls = [each.version for each in seen if isinstance(each, SoulVersionEntry)]
    assert souls == sorted(souls, reverse=True)


def test_an_agent_that_is_not_there_has_no_record(database: UnitsOnDatabase) -> None:
    with pytest.raises(NotFound):
        EvolutionRecord(database.units).page(ALICE, "nobody", PageRequest())


def test_entries_of_all_kinds_at_one_moment_are_told_once_whatever_a_page_holds(
    database: UnitsOnDatabase, run: Run
) -> None:
    with database.units.write() as unit:
        unit.skills.add(make_skill("weekly", visibility=Visibility.PUBLIC))
        for number in range(1, 4):
            unit.proposals.add(make_proposal(run, number))
            offer = make_offer(run, request_id=f"off_{number}", call_key=f"offer-{number}")
            unit.requests.add(replace(offer, created_at_ms=NOW, state=RequestState.DENIED))
            version = make_version(make_skill("weekly"), number, run_id=run.run_id)
            unit.skills.add_version(replace(version, created_at_ms=NOW))
            nudge = replace(remark_event(run, "90", step=number), key=f"nudge-{number}")
            unit.journal.append(run.session_id, [nudge], at_ms=NOW)
    for number in range(1, 4):
        write_soul(database, number, f"Be {number}.", created_at_ms=NOW)
    everything = record(database, ADMIN)
    assert len(everything) == 1 + 5 * 3

    for limit in (1, 2, 5):
        assert list(walked(database, ADMIN, limit)) == everything
    for kind in EntryKind:
        own = record(database, ADMIN, kind)
        assert list(walked(database, ADMIN, 2, kind)) == own
        assert [each for each in everything if each in own] == own


def walked(
    database: UnitsOnDatabase, who: Principal, limit: int, kind: EntryKind | None = None
) -> Iterator[EvolutionEntry]:
    service, request = EvolutionRecord(database.units), PageRequest(limit=limit)
    while True:
        page = service.page(who, "evolver", request, kind=kind)
        assert len(page.items) <= limit
        yield from page.items
        if page.next_cursor is None:
            return
        request = PageRequest(limit=limit, after=decode_cursor(page.next_cursor))


def test_a_cursor_of_another_list_is_refused(database: UnitsOnDatabase, run: Run) -> None:
    for after in ((1,), ("a", 1, "offer", "off_1"), (NOW, 1, "offer", "off_1", 2)):
        with pytest.raises(Invalid):
            EvolutionRecord(database.units).page(ALICE, "evolver", PageRequest(after=after))


def test_a_page_compares_only_so_much_and_says_what_it_left_out(
    database: UnitsOnDatabase, run: Run
) -> None:
    # Much of it stands in both, and nothing in the same order.
    texts = ("a\nb\n" * 2_000, "b\na\nc\n" * 1_300)
    write_soul(database, 1, "Be warm.")
    for version in range(2, 8):
        write_soul(database, version, texts[version % 2])
    write_soul(database, 8, texts[1] + "more\n")
    began = time.process_time()

    found = [each for each in record(database) if isinstance(each, SoulVersionEntry)]

    assert time.process_time() - began < 2
    assert [each.version for each in found] == list(range(8, 0, -1))
    first, *others = (each.diff for each in found)
    assert first == text_diff(texts[1], texts[1] + "more\n", "SOUL.md")
    assert others == [None] * 7


def test_what_runs_of_an_agent_made_is_found_by_the_agent(
    database: UnitsOnDatabase, run: Run
) -> None:
    keep_skill(database, run, visibility=Visibility.PUBLIC)
    with database.units.write() as unit:
        unit.requests.add(make_offer(run))
        other = {"request_id": "apr_1", "kind": RequestKind.APPROVAL, "call_key": "other"}
        unit.requests.add(make_offer(run, **other))
        # By a person, or by a run that nobody knows.
        for number, run_id in ((3, None), (4, "run_gone")):
            unit.skills.add_version(make_version(make_skill("weekly"), number, run_id=run_id))

        def whose(table: str) -> list[str | None]:
            query = sa.text(f"SELECT agent_id FROM {table} ORDER BY 1")
            return sorted(unit.connection.execute(query).scalars(), key=str)

        assert whose("requests") == [None, "evolver"]
        assert whose("skill_versions") == [None, None, "evolver", "evolver"]
        assert whose("journal") == ["default", "evolver"]

"""The audit and the versions of skills as chains of digests."""

from collections.abc import Callable
from functools import partial

import pytest
import sqlalchemy as sa

from tests.support.factories import NOW
from tests.support.skill_factories import make_skill, make_version
from tests.support.threads_at_once import together
from understudy.core.audit import AuditEntry, AuditVerification, LinkProblem
from understudy.core.page import PageRequest
from understudy.storage.chains import BATCH
from understudy.storage.schema import audit, chains, skill_versions
from understudy.storage.unit import Units


def entry(number: int, *, at_ms: int = NOW) -> AuditEntry:
    return AuditEntry(
        at_ms=at_ms + number,
        actor="alice",
        action="sessions.create",
        resource="sessions",
        resource_id=f"s{number}",
        reason="né 中" if number % 2 else None,
    )


def add_entries(units: Units, numbers: range) -> None:
    for number in numbers:
        with units.write() as unit:
            unit.audit.add(entry(number))


def add_versions(units: Units) -> None:
    with units.write() as unit:
        skill = make_skill()
        unit.skills.add(skill)
        for number in (1, 2, 3):
            unit.skills.add_version(make_version(skill, number))


def sealed(units: Units) -> None:
    assert units.seal()


def verified(units: Units, head: str | None = None) -> AuditVerification:
    sealed(units)
    with units.read() as unit:
        return unit.chains.verify(head)


def change(units: Units, statement: sa.UpdateBase) -> None:
    with units.write() as unit:
        unit.connection.execute(statement)


def at(place: int) -> sa.ColumnElement[bool]:
    return audit.c.place == place


def test_what_nobody_touched_is_verified(units: Units) -> None:
    assert verified(units).ok
    add_entries(units, range(5))
    with units.write() as unit:
        unit.audit.add(entry(5))
        unit.audit.add(entry(6))
    add_versions(units)

    found = verified(units)

    assert (found.ok, found.first_bad) == (True, None)
    assert (found.audit.checked, found.skill_versions.checked) == (7, 3)


TAMPERING: dict[str, tuple[Callable[[], sa.UpdateBase], LinkProblem]] = {
    "another actor": (
        lambda: sa.update(audit).where(at(3)).values(actor="mallory"),
        LinkProblem.EDITED,
    ),
    "a reason taken out": (
        lambda: sa.update(audit).where(at(2)).values(reason=None),
        LinkProblem.EDITED,
    ),
    "another time": (lambda: sa.update(audit).where(at(1)).values(at_ms=1), LinkProblem.EDITED),
    "content and its digest": (
        lambda: sa.update(audit).where(at(2)).values(content_digest="0" * 64, erased_at_ms=1),
        LinkProblem.EDITED,
    ),
    "the first removed": (lambda: sa.delete(audit).where(at(1)), LinkProblem.REMOVED),
    "one in the middle removed": (lambda: sa.delete(audit).where(at(3)), LinkProblem.REMOVED),
    "the last removed": (lambda: sa.delete(audit).where(at(5)), LinkProblem.REMOVED),
    "all removed": (lambda: sa.delete(audit), LinkProblem.REMOVED),
    "taken out of the chain": (
        lambda: sa.update(audit).where(at(5)).values(place=None, content_digest=None),
        LinkProblem.ADDED,
    ),
    "sealed once more": (
        lambda: sa.update(audit).where(at(3)).values(place=None, link=None),
        LinkProblem.REMOVED,
    ),
    "one put in": (
        lambda: sa.insert(audit).values(
            at_ms=1,
            actor="m",
            action="a",
            resource="r",
            resource_id="i",
            outcome="done",
            request_id="",
        ),
        LinkProblem.ADDED,
    ),
    "the head taken back": (
        lambda: sa.update(chains).where(chains.c.name == "audit").values(place=4),
        LinkProblem.ADDED,
    ),
    "no head": (lambda: sa.delete(chains).where(chains.c.name == "audit"), LinkProblem.ADDED),
    "another file in a version": (
        lambda: (
            sa.update(skill_versions).where(skill_versions.c.number == 2).values(digest="sha256:f")
        ),
        LinkProblem.EDITED,
    ),
    "the last version removed": (
        lambda: sa.delete(skill_versions).where(skill_versions.c.number == 3),
        LinkProblem.REMOVED,
    ),
}


@pytest.mark.parametrize("what", TAMPERING)
def test_a_row_that_was_edited_added_or_removed_is_found(units: Units, what: str) -> None:
    add_entries(units, range(5))
    add_versions(units)
    sealed(units)
    statement, problem = TAMPERING[what]
    change(units, statement())

    found = verified(units)

    assert (found.ok, problem_of(found)) == (False, problem)
    assert found.first_bad is not None
    assert found.first_bad.chain == ("skill_versions" if "version" in what else "audit")


def test_an_erased_row_is_told_apart_from_an_edited_one(units: Units) -> None:
    add_entries(units, range(3))
    sealed(units)
    change(units, sa.update(audit).where(at(2)).values(reason=None, actor="", erased_at_ms=NOW))

    found = verified(units)

    assert (found.ok, found.audit.erased, found.audit.checked) == (True, 1, 3)
    with units.read() as unit:
        [_, erased, _] = unit.audit.page(PageRequest(), resource=None, actor=None).items
    assert erased.erased_at_ms == NOW


def test_retention_shortens_the_chain_at_its_start(units: Units) -> None:
    add_entries(units, range(6))
    noted = verified(units).audit.head
    with units.write() as unit:
        assert unit.chains.prune_audit(before_ms=NOW + 4, most=3) == 3
    with units.write() as unit:
        assert unit.chains.prune_audit(before_ms=NOW + 4, most=3) == 1
        assert unit.chains.prune_audit(before_ms=NOW + 4, most=3) == 0
    add_entries(units, range(6, 8))

    found = verified(units, noted)

    assert (found.ok, found.audit.pruned, found.audit.checked) == (True, 4, 4)
    change(units, sa.delete(audit).where(at(5)))
    assert problem_of(verified(units)) == LinkProblem.REMOVED


def test_rows_from_before_the_chain_are_counted_and_nothing_else(units: Units) -> None:
    with units.write() as unit:
        unit.connection.execute(sa.delete(chains))
        unit.connection.execute(
            sa.insert(chains).values(
                name="audit",
                place=0,
                link="0" * 64,
                base_place=0,
                base_link="0" * 64,
                unchained=1,
            )
        )
        unit.connection.execute(TAMPERING["one put in"][0]())
    add_entries(units, range(2))
    assert (verified(units).ok, verified(units).audit.unchained) == (True, 1)

    with units.write() as unit:
        unit.chains.prune_audit(before_ms=NOW, most=10)
    assert (verified(units).ok, verified(units).audit.unchained) == (True, 0)


def test_a_head_that_was_noted_proves_that_nothing_was_written_anew(units: Units) -> None:
    add_entries(units, range(3))
    noted = verified(units).audit.head
    add_entries(units, range(3, 5))
    assert verified(units, noted).ok

    change(units, sa.delete(audit))
    change(units, sa.delete(chains))
    add_entries(units, range(1, 5))

    assert verified(units).ok
    assert problem_of(verified(units, noted)) == LinkProblem.HEAD_UNKNOWN


def problem_of(found: AuditVerification) -> LinkProblem | None:
    return found.first_bad.problem if found.first_bad else None


def test_a_unit_that_is_rolled_back_leaves_no_link(units: Units) -> None:
    add_entries(units, range(2))
    with pytest.raises(RuntimeError, match="stop"):
        add_and_stop(units)
    add_entries(units, range(3, 5))

    found = verified(units)

    assert (found.ok, found.audit.checked) == (True, 4)


def add_and_stop(units: Units) -> None:
    with units.write() as unit:
        unit.audit.add(entry(2))
        raise RuntimeError("stop")


def test_many_writers_and_sealers_at_once_make_one_chain(units: Units) -> None:
    def add_and_seal(part: int) -> None:
        for number in range(part, part + 10):
            add_entries(units, range(number, number + 1))
            units.seal()

    together([partial(add_and_seal, part) for part in range(4)])

    found = verified(units)

    assert (found.ok, found.audit.checked, found.audit.unsealed) == (True, 40, 0)


def test_the_newest_rows_are_told_to_be_unsealed(units: Units) -> None:
    add_entries(units, range(3))
    sealed(units)
    add_entries(units, range(3, 5))
    add_versions(units)

    with units.read() as unit:
        found = unit.chains.verify()

    assert (found.ok, found.audit.checked, found.audit.unsealed) == (True, 3, 2)
    assert (found.skill_versions.checked, found.skill_versions.unsealed) == (0, 3)


def test_an_entry_that_is_edited_before_it_is_sealed_is_found(units: Units) -> None:
    add_entries(units, range(2))
    change(units, sa.update(audit).where(audit.c.resource_id == "s1").values(actor="mallory"))

    assert problem_of(verified(units)) is LinkProblem.EDITED


def test_an_entry_that_is_erased_before_it_is_sealed_keeps_the_digest_of_what_it_said(
    units: Units,
) -> None:
    add_entries(units, range(2))
    change(units, sa.update(audit).values(reason=None, erased_at_ms=NOW))

    found = verified(units)

    assert (found.ok, found.audit.erased, found.audit.checked) == (True, 2, 2)


def test_more_rows_than_one_batch_are_sealed_in_several(units: Units) -> None:
    with units.write() as unit:
        for number in range(BATCH + 1):
            unit.audit.add(entry(number))

    assert [units.seal(), units.seal()] == [False, True]
    assert verified(units).audit.checked == BATCH + 1


def test_writers_wait_neither_for_a_sealing_nor_for_each_other(units: Units) -> None:
    if units.engine.dialect.name == "sqlite":
        pytest.skip("one writer at a time")
    add_entries(units, range(1))
    sealed(units)
    with units.write() as sealing:
        sealing.audit.add(entry(1))
        sealing.chains.seal()
        # On threads of their own, which would not end if they waited for this one.
        together([partial(add_entries, units, range(2, 3)), partial(add_versions, units)])
        assert together([units.seal]) == [False]

    found = verified(units)

    assert (found.ok, found.audit.checked, found.skill_versions.checked) == (True, 3, 3)


def test_an_entry_that_is_committed_late_is_read_after_those_sealed_before(units: Units) -> None:
    if units.engine.dialect.name == "sqlite":
        pytest.skip("one writer at a time")
    with units.write() as late:
        late.audit.add(entry(1))
        together([partial(add_entries, units, range(2, 3))])
        assert together([units.seal]) == [True]
    sealed(units)

    with units.read() as unit:
        assert unit.audit.last_place() == 2
        assert unit.audit.resources_after(1, limit=10) == ((2, "sessions"),)
        numbers = sa.select(audit.c.resource_id).order_by(audit.c.place)
        assert unit.connection.execute(numbers).scalars().all() == ["s2", "s1"]
    assert verified(units).ok

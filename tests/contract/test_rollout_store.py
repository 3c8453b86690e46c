"""Rollouts, what happened to them and what speaks for them, on both databases."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import NOW, ODD_TEXTS
from tests.support.rollout_factories import (
    make_definition,
    make_event,
    make_evidence,
    make_rollout,
    make_snapshot,
    make_trial,
)
from understudy.core.errors import DamagedRecord, Invalid, StaleVersion
from understudy.core.page import Page, PageRequest, decode_cursor
from understudy.rollout.model import (
    EVERYTHING,
    EvidenceKind,
    Proof,
    Rollout,
    RolloutEventName,
    RolloutFilter,
    Stage,
)
from understudy.rollout.trials.trial import TrialState
from understudy.sessions.learning_scopes import LearningScope, ScopeKind
from understudy.skills.runtime_settings import RuntimeSettings, SkillContext
from understudy.storage.rollout_snapshots import rollout_row
from understudy.storage.schema import (
    rollout_evidence,
    rollout_snapshots,
    rollout_trials,
    rollouts,
)
from understudy.storage.unit import Unit, Units

FULL = RuntimeSettings(
    allowed_tools=("read_file", "list_files"),
    blocked_tools=("shell",),
    context=SkillContext.FORK,
    agent_profile="verification",
    provider="openai",
    model="small",
    fallback_model="smaller",
)


@pytest.fixture
def units(empty_database: UnitsOnDatabase) -> Units:
    return empty_database.units


def keep(units: Units, *kept: Rollout) -> None:
    with units.write() as unit:
        for rollout in kept:
            assert unit.rollouts.add(rollout)


def page_by_page(units: Units, page: Callable[[Unit, PageRequest], Page[Any]]) -> list[Any]:
    """All items of a list, one at a time."""
    found, request = list[Any](), PageRequest(limit=1)
    while True:
        with units.read() as unit:
            part = page(unit, request)
        found += part.items
        if part.next_cursor is None:
            return found
        request = PageRequest(limit=1, after=decode_cursor(part.next_cursor))


def test_a_rollout_comes_back_as_it_was_kept(units: Units) -> None:
    rollout = make_rollout(
        "team:release_notes-2",
        status=Stage.REVOKED,
        source_scope=LearningScope(kind=ScopeKind.PROJECT, id="a:b"),
        definition=make_definition(
            "team:release_notes-2", when_to_use="Before a release", version="2", runtime=FULL
        ),
        attempt=3,
        revision=9,
        held_reason="a canary failed",
        revoked_at_ms=NOW + 1,
        revoked_reason="worse than before",
        is_demoted=True,
    )
    keep(units, rollout)

    with units.read() as unit:
        assert unit.rollouts.get(rollout.skill_name) == rollout
        assert unit.rollouts.get(rollout.skill_name.upper()) is None
        for other in ODD_TEXTS.values():
            assert unit.rollouts.get(other) is None


def test_whatever_a_rollout_says_is_kept(units: Units) -> None:
    for at, text in enumerate(ODD_TEXTS.values()):
        name = f"skill-{at}"
        # Half a character is refused before it could be a part of a definition.
        fits = text.encode(errors="replace").decode()
        said = make_definition(name, description=fits, instructions=fits, when_to_use=fits)
        rollout = make_rollout(name, definition=said, held_reason=text, revoked_reason=text)
        event = make_event(rollout, reason=text)
        evidence = make_evidence(rollout, note=text)
        trial = make_trial(rollout, f"trl_{at}", marker=text, cases=({text: text},))
        with units.write() as unit:
            assert unit.rollouts.add(rollout)
            unit.rollouts.add_event(event)
            unit.rollouts.add_evidence(evidence)
            unit.rollouts.add_snapshot(make_snapshot(rollout))
            unit.rollout_trials.add(trial)
        with units.read() as unit:
            assert unit.rollouts.get(name) == rollout
            assert unit.rollouts.recent_events([name], limit=9) == {name: (event,)}
            assert unit.rollouts.newest_evidence([rollout], limit=9) == {name: (evidence,)}
            assert unit.rollouts.snapshot(name, 1) == make_snapshot(rollout)
            assert unit.rollout_trials.get(trial.trial_id) == trial


def test_a_name_is_taken_once_even_when_many_try(units: Units) -> None:
    def add(at: int) -> bool:
        with units.write() as unit:
            return unit.rollouts.add(make_rollout(source_learning_id=f"lrn_{at}"))

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(add, range(8))) == [False] * 7 + [True]


def test_a_learning_has_one_live_rollout_and_any_number_of_revoked_ones(units: Units) -> None:
    of_one = {"source_learning_id": "lrn_1"}
    keep(units, make_rollout("first", **of_one, status=Stage.REVOKED))
    with units.read() as unit:
        assert unit.rollouts.live_of("lrn_1") is None
    second = make_rollout("second", **of_one)
    keep(units, second)

    with units.write() as unit:
        assert not unit.rollouts.add(make_rollout("third", **of_one, status=Stage.ACTIVE))
        assert unit.rollouts.add(make_rollout("fourth", **of_one, status=Stage.REVOKED))
        assert unit.rollouts.live_of("lrn_1") == second
        assert unit.rollouts.live_of("lrn_2") is None


def test_a_change_on_top_of_an_older_state_is_refused(units: Units) -> None:
    rollout = make_rollout()
    keep(units, rollout)
    changed = replace(rollout, status=Stage.VERIFIED, revision=2)
    with units.write() as unit:
        assert unit.rollouts.get(rollout.skill_name, lock=True) == rollout
        unit.rollouts.update(changed, expected_version=1)

    with pytest.raises(StaleVersion), units.write() as unit:
        unit.rollouts.update(replace(rollout, status=Stage.REVOKED), expected_version=1)

    with units.read() as unit:
        assert unit.rollouts.get(rollout.skill_name) == changed


def test_rollouts_are_listed_by_name_and_narrowed(units: Units) -> None:
    stages = {"b": Stage.ACTIVE, "a": Stage.ACTIVE, "C": Stage.DRAFT, "a:1": Stage.REVOKED}
    keep(units, *(make_rollout(name, status=stage) for name, stage in stages.items()))

    def listed(narrowed: RolloutFilter) -> list[str]:
        found = page_by_page(
            units, lambda unit, request: unit.rollouts.page(request, narrowed=narrowed)
        )
        return [rollout.skill_name for rollout in found]

    assert listed(EVERYTHING) == ["C", "a", "a:1", "b"]
    assert listed(RolloutFilter(status=Stage.ACTIVE)) == ["a", "b"]
    assert listed(RolloutFilter(source_learning_id="lrn_a:1")) == ["a:1"]
    assert listed(RolloutFilter(source_learning_id="lrn_a", status=Stage.DRAFT)) == []
    with units.read() as unit:
        assert sorted(unit.rollouts.stamp({Stage.ACTIVE})) == ["a", "b"]
        assert unit.rollouts.counts() == {
            Stage.DRAFT: 1,
            Stage.VERIFIED: 0,
            Stage.CANARY: 0,
            Stage.ACTIVE: 2,
            Stage.REVOKED: 1,
        }
        with pytest.raises(Invalid):
            unit.rollouts.page(PageRequest(after=(1,)), narrowed=EVERYTHING)


def test_events_are_told_in_the_order_in_which_they_were_noted(units: Units) -> None:
    rollout, other = make_rollout(), make_rollout("other")
    events = [
        make_event(rollout),
        make_event(
            rollout,
            event=RolloutEventName.ROLLOUT_RESULT,
            rollout_kind=EvidenceKind.CANARY,
            run_id="run_1",
            session_id="s1",
            success=False,
            definition_fingerprint=rollout.fingerprint,
            # The clock was set back.
            recorded_at_ms=NOW - 1,
        ),
        make_event(
            rollout,
            event=RolloutEventName.REVOKE,
            from_status=Stage.CANARY,
            to_status=Stage.REVOKED,
        ),
    ]
    keep(units, rollout, other)
    with units.write() as unit:
        for event in (make_event(other), *events):
            unit.rollouts.add_event(event)

    told = page_by_page(
        units, lambda unit, request: unit.rollouts.events(rollout.skill_name, request)
    )
    assert told == events
    with units.read() as unit:
        assert unit.rollouts.recent_events([rollout.skill_name, "none"], limit=2) == {
            rollout.skill_name: tuple(events[1:]),
            "none": (),
        }


def test_a_run_speaks_once_in_an_attempt(units: Units) -> None:
    rollout = make_rollout()
    first = make_evidence(rollout)
    second = make_evidence(
        rollout, "run_2", kind=EvidenceKind.CANARY, proof=Proof.EXECUTED, trial_id="trl_1"
    )
    again = replace(first, evidence_id="evd_again", success=False)
    later = replace(first, evidence_id="evd_later", attempt=2)
    keep(units, rollout, make_rollout("other"))

    with units.write() as unit:
        added = [unit.rollouts.add_evidence(each) for each in (second, first, again, later)]
        assert added == [True, True, False, True]

    with units.read() as unit:
        store = unit.rollouts
        # Of one time, by id.
        assert store.evidence_of_run(rollout.skill_name, 1, "run_2") == second
        assert store.evidence_of_run(rollout.skill_name, 2, "run_2") is None
        assert store.evidence_of_run(rollout.skill_name, 1, "run_\x00") is None
        assert store.newest_evidence([rollout, make_rollout("other")], limit=9) == {
            rollout.skill_name: (first, second),
            "other": (),
        }
        assert store.newest_evidence([replace(rollout, attempt=2)], limit=9) == {
            rollout.skill_name: (later,)
        }
        assert store.newest_evidence([], limit=9) == {}


def test_snapshots_are_kept_newest_first_and_never_twice(units: Units) -> None:
    rollout = make_rollout()
    stages = {1: Stage.DRAFT, 3: Stage.ACTIVE, 4: Stage.REVOKED, 7: Stage.ACTIVE}
    snapshots = [
        make_snapshot(replace(rollout, status=stage, revision=number, attempt=max(1, number - 2)))
        for number, stage in stages.items()
    ]
    keep(units, rollout)
    with units.write() as unit:
        for snapshot in snapshots:
            unit.rollouts.add_snapshot(snapshot)

    newest_first = snapshots[::-1]
    listed = page_by_page(
        units, lambda unit, request: unit.rollouts.snapshots(rollout.skill_name, request)
    )
    assert listed == newest_first
    with units.read() as unit:
        store, name = unit.rollouts, rollout.skill_name
        in_force = (newest_first[0], newest_first[2])
        assert store.active_snapshots(name, limit=9) == in_force
        assert store.active_snapshots(name, limit=1) == in_force[:1]
        assert store.snapshot(name, 3) == snapshots[1]
        for number in (-1, 0, 2, 2**40):
            assert store.snapshot(name, number) is None
        assert store.snapshot("other", 3) is None
    with pytest.raises(sa.exc.IntegrityError), units.write() as unit:
        unit.rollouts.add_snapshot(snapshots[0])


def test_a_trial_ends_once(units: Units) -> None:
    rollout = make_rollout()
    trial = make_trial(rollout)
    keep(units, rollout)
    with units.write() as unit:
        unit.rollout_trials.add(trial)
        assert unit.rollout_trials.pending(limit=9) == (trial,)
    started = replace(trial, run_id="run_1", session_id="s1", cases=({"run_id": "run_0"},))
    passed = replace(started, state=TrialState.PASSED, ended_at_ms=NOW + 1, report={"cases": []})

    with units.write() as unit:
        assert unit.rollout_trials.end(started)
        assert unit.rollout_trials.of_run("run_1") == started
        assert unit.rollout_trials.end(passed)
        assert not unit.rollout_trials.end(replace(passed, state=TrialState.FAILED))

    with units.read() as unit:
        assert unit.rollout_trials.get("trl_1") == passed
        assert unit.rollout_trials.of_run("run_2") is None
        assert unit.rollout_trials.get("trl_\x00") is None
        assert unit.rollout_trials.pending(limit=9) == ()
        assert unit.rollout_trials.with_report(rollout.skill_name, 1) == (passed,)
        assert unit.rollout_trials.with_report(rollout.skill_name, 2) == ()


def test_trials_are_listed_newest_first(units: Units) -> None:
    rollout, other = make_rollout(), make_rollout("other")
    keep(units, rollout, other)
    trials = [make_trial(rollout, f"trl_{at}") for at in range(3)]
    with units.write() as unit:
        for trial in (*trials, make_trial(other, "trl_other")):
            unit.rollout_trials.add(trial)

    listed = page_by_page(
        units, lambda unit, request: unit.rollout_trials.page(rollout.skill_name, request)
    )
    assert listed == trials[::-1]
    with units.read() as unit:
        assert unit.rollout_trials.pending(limit=2) == tuple(trials[:2])


def tear(unit: Unit, table: sa.Table, **values: Any) -> None:
    """Have the row of `bad-one` say something else."""
    unit.connection.execute(
        sa.update(table).where(table.c.skill_name == "bad-one").values(**values)
    )


TORN: list[dict[str, Any]] = [
    {"body": {"definition": {}}},
    {"body": []},
    {"source_scope_key": "planet:x"},
]


def test_a_damaged_rollout_is_told_and_keeps_no_other_from_being_listed(units: Units) -> None:
    bad, good = (make_rollout(name, status=Stage.ACTIVE) for name in ("bad-one", "good-one"))
    keep(units, bad, good)

    for torn in TORN:
        with units.write() as unit:
            tear(unit, rollouts, **torn)
            assert unit.rollouts.several(["bad-one", "good-one"]) == (good,), torn
            assert unit.rollouts.page(PageRequest(), narrowed=EVERYTHING).items == (good,)
            with pytest.raises(DamagedRecord):
                unit.rollouts.get("bad-one")
            tear(unit, rollouts, **{name: rollout_row(bad)[name] for name in torn})
            assert unit.rollouts.get("bad-one") == bad


def test_a_definition_that_was_changed_behind_its_back_is_not_taken_for_the_kept_one(
    units: Units,
) -> None:
    bad = make_rollout("bad-one")
    keep(units, bad)
    other = replace(bad, definition=make_definition("bad-one", instructions="Do something else."))
    with units.write() as unit:
        unit.rollouts.add_snapshot(make_snapshot(bad))
        unit.rollouts.update(other, expected_version=1)
        tear(unit, rollouts, fingerprint=bad.fingerprint)
        tear(unit, rollout_snapshots, status="active")

    with units.read() as unit:
        with pytest.raises(DamagedRecord):
            unit.rollouts.get("bad-one")
        assert unit.rollouts.active_snapshots("bad-one", limit=9) == ()


def test_what_was_expected_of_a_definition_last_is_found(units: Units) -> None:
    rollout = make_rollout()
    keep(units, rollout)
    about = rollout.skill_name, rollout.attempt, rollout.fingerprint
    case = {"run_id": "run_0", "marker": "of a case"}
    trials: dict[str, dict[str, Any]] = {
        "trl_1": {"marker": "old"},
        "trl_2": {"marker": "ö\x00 new"},
        "trl_3": {"marker": ""},
        "trl_4": {"marker": "of a replay", "cases": (case,)},
        "trl_5": {"marker": "of another attempt", "attempt": 2},
        "trl_6": {"marker": "of another definition", "fingerprint": "f"},
    }

    with units.write() as unit:
        assert unit.rollout_trials.newest_marker(*about) == ""
        for trial_id, fields in trials.items():
            unit.rollout_trials.add(make_trial(rollout, trial_id, **fields))

    with units.read() as unit:
        assert unit.rollout_trials.newest_marker(*about) == "ö\x00 new"
        assert unit.rollout_trials.newest_marker(about[0], 2, about[2]) == "of another attempt"
        assert unit.rollout_trials.newest_marker("nobody", *about[1:]) == ""


def test_damaged_evidence_never_counts_as_none(units: Units) -> None:
    rollout = make_rollout("bad-one")
    keep(units, rollout)
    with units.write() as unit:
        failed = make_evidence(rollout, kind=EvidenceKind.CANARY, success=False)
        unit.rollouts.add_evidence(failed)
        unit.rollout_trials.add(make_trial(rollout))
        tear(unit, rollout_evidence, note={})
        tear(unit, rollout_trials, cases={})

    with units.read() as unit:
        # It counts all the same, and keeps nothing else from being shown.
        assert unit.rollouts.sums_of([rollout])["bad-one"].every.successful_run_count == 0
        assert unit.rollouts.sums_of([rollout])["bad-one"].every.canary_failure_count == 1
        assert unit.rollouts.newest_evidence([rollout], limit=9) == {"bad-one": ()}
        with pytest.raises(DamagedRecord):
            unit.rollout_trials.get("trl_1")
        with pytest.raises(DamagedRecord):
            unit.rollout_trials.newest_marker("bad-one", rollout.attempt, rollout.fingerprint)
        assert unit.rollout_trials.page("bad-one", PageRequest()).items == ()


# What is asked whenever a prompt is put together or a run ends, and the index that answers it.
LOOKS: dict[str, tuple[str, Callable[[Unit], object]]] = {
    "stamp": ("ix_rollouts_status", lambda unit: unit.rollouts.stamp({Stage.ACTIVE})),
    "live of": ("uq_rollouts_live", lambda unit: unit.rollouts.live_of("lrn_1")),
    "events": ("ix_rollout_events_skill", lambda unit: unit.rollouts.recent_events(["x"], limit=9)),
    "counts": (
        "COVERING INDEX ix_rollout_evidence_counted",
        lambda unit: unit.rollouts.sums_of([make_rollout()]),
    ),
    "evidence": (
        "ix_rollout_evidence_newest",
        lambda unit: unit.rollouts.newest_evidence([make_rollout()], limit=9),
    ),
    "in force": (
        "ix_rollout_snapshots_active",
        lambda unit: unit.rollouts.active_snapshots("x", limit=9),
    ),
    "trial of a run": ("uq_rollout_trials_run", lambda unit: unit.rollout_trials.of_run("run_1")),
    "pending": ("ix_rollout_trials_pending", lambda unit: unit.rollout_trials.pending(limit=9)),
    "pending of one": (
        "ix_rollout_trials_under_way",
        lambda unit: unit.rollout_trials.pending(limit=9, skill_name="x"),
    ),
    "under way": (
        "ix_rollout_trials_under_way",
        lambda unit: unit.rollout_trials.count_pending("x", 1, "f"),
    ),
}


def test_what_is_asked_often_costs_no_more_when_there_is_more(units: Units) -> None:
    if units.engine.dialect.name != "sqlite":
        pytest.skip("SQLite tells its plan whatever there is in the tables")
    for name, (index, look) in LOOKS.items():
        assert index in plan_of(units, look), name


def plan_of(units: Units, look: Callable[[Unit], object]) -> str:
    """How SQLite finds what is asked for."""
    asked = list[tuple[str, Any]]()

    def listen(*given: Any) -> None:
        asked.append((given[2], given[3]))

    with units.read() as unit:
        sa.event.listen(units.engine, "before_cursor_execute", listen)
        look(unit)
        sa.event.remove(units.engine, "before_cursor_execute", listen)
    with units.engine.connect() as connection:
        plans = [
            connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)
            for statement, values in asked
        ]
        return " ".join(row.detail for plan in plans for row in plan)

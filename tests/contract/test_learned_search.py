"""Finding learnings, having them explained, and choosing among many: on both databases."""

from dataclasses import replace
from typing import Any, cast

import pytest

from tests.support.factories import NOW
from tests.support.learning_factories import ATLAS, SESSION, SNACK, keep, make_learning
from tests.support.run_harness import RunHarness, no_skills
from understudy.learnings.model import LearningSource, LearningStatus, Sensitivity, Tier
from understudy.memory.report import Counters
from understudy.memory.retention import Keeper
from understudy.retrieval import learned
from understudy.retrieval.explain import ExplainedRecord
from understudy.retrieval.inspection import MemoryInspection, Reader
from understudy.retrieval.learned import learn_context
from understudy.retrieval.rarity import SCAN_LIMIT, plan
from understudy.sessions.learning_scopes import WORKSPACE, session_scope
from understudy.sessions.model import require_session
from understudy.storage import term_index
from understudy.storage.unit import Units
from understudy.testing.clock import FrozenClock


@pytest.fixture
def inspection(units: Units) -> MemoryInspection:
    clock = FrozenClock(NOW)
    return MemoryInspection(units, clock, Keeper(clock, Counters()), no_skills(units, clock))


def context(inspection: MemoryInspection, query: str | None = None) -> list[str]:
    return [
        it.learning_id for it in inspection.context(Reader(session_id="s1"), query).learned.kept
    ]


# Search


def test_browsing_shows_learnings_and_runs_by_time(
    units: Units, inspection: MemoryInspection
) -> None:
    keep(
        units,
        *(
            make_learning(
                f"Crane {number} " + "x" * 600,
                learning_id=f"lrn_{number:02}",
                published_at_ms=NOW + number,
            )
            for number in range(20)
        ),
    )

    answer = inspection.search(Reader(session_id="s1"), None, None)

    assert [it.source_id for it in answer.results] == [f"lrn_{at:02}" for at in range(19, 7, -1)]
    assert answer.truncated
    assert answer.query is None
    assert {(it.score, it.kind) for it in answer.results} == {(0, "learning")}
    assert len(answer.results[0].excerpt) == 181
    assert len(inspection.search(Reader(session_id="s1"), None, 0).results) == 1
    assert not inspection.search(Reader(session_id="s1"), None, 500).truncated


async def test_learnings_and_runs_are_ranked_together(
    harness: RunHarness, inspection: MemoryInspection
) -> None:
    keep(harness.units, make_learning("Project codename is Atlas.", learning_id="lrn_a"), SNACK)
    run_id = (await harness.run("paint the fence")).run.run_id

    assert {
        it.source_id for it in inspection.search(Reader(session_id="s1"), None, None).results
    } == {
        "lrn_a",
        "lrn_snack",
        run_id,
    }
    [result] = inspection.search(Reader(session_id="s1"), "atlas", None).results
    assert (result.source_id, result.matched_fields) == ("lrn_a", ("content",))
    assert result.scope == WORKSPACE
    assert [
        it.source_id for it in inspection.search(Reader(session_id="s1"), "fence", None).results
    ] == [run_id]


def test_a_search_knows_kinds_and_scopes_and_a_prompt_does_not(
    units: Units, inspection: MemoryInspection
) -> None:
    keep(units, make_learning("Default editor is vim.", learning_id="vim"), SNACK)

    first, second = inspection.search(Reader(session_id="s1"), "workspace fact", None).results

    assert (first.source_id, first.matched_fields) == ("vim", ("kind", "scope"))
    assert (second.source_id, second.matched_fields) == ("lrn_snack", ("kind",))
    assert first.score > second.score > 0
    assert context(inspection, "workspace fact") == []
    by_content = inspection.search(Reader(session_id="s1"), "vim", None).results[0]
    assert by_content.score > first.score


# Explanation


def test_the_explanation_lists_every_record_with_all_that_keeps_it_out(
    units: Units, inspection: MemoryInspection
) -> None:
    secret = make_learning(
        "The vault color is green.",
        learning_id="vault",
        sensitivity=Sensitivity.SENSITIVE,
        expires_at_ms=1,
    )
    keep(units, ATLAS, SNACK, secret)

    answer = inspection.explain(Reader(session_id="s1"), "What color is Atlas?")

    entries: dict[str, ExplainedRecord] = {it.source_id: it for it in answer.entries}
    assert [it.rank for it in answer.entries] == [1, 2, 3]
    assert not answer.truncated
    atlas, vault, snack = (entries[each] for each in ("lrn_atlas", "vault", "lrn_snack"))
    # Although it has a word of the query, its place tells only scope and time.
    assert (atlas.rank, snack.rank, vault.rank) == (1, 2, 3)
    assert set(atlas.matches[0].terms) == {"color", "atlas"}
    assert atlas.text == ATLAS.content
    assert vault.reasons == ("expired", "sensitive")
    assert (vault.text, vault.score, vault.matches, vault.tokens) == (None, 0, (), 0)
    assert snack.reasons == ("no_match",)
    assert all(it.tokens > 20 for it in (atlas, snack))


async def test_the_explanation_lists_the_runs_of_the_session_after_its_learnings(
    harness: RunHarness,
) -> None:
    keep(harness.units, SNACK)
    run_id = (await harness.run("paint the fence")).run.run_id
    inspection = MemoryInspection(
        harness.units, harness.clock, harness.keeper, no_skills(harness.units, harness.clock)
    )

    snack, run = inspection.explain(Reader(session_id="s1"), "the fence").entries

    assert (snack.kind, snack.label, snack.scope) == ("learning", "fact", SESSION)
    assert (run.kind, run.label, run.scope) == ("recovered_run", "completed", SESSION)
    assert (run.source_id, run.rank, run.reasons) == (run_id, 1, ())
    assert run.tokens > 20
    assert run.score > 0


def test_what_matches_in_another_scope_is_explained_with_its_scope(
    units: Units, inspection: MemoryInspection
) -> None:
    keep(
        units,
        make_learning("Harbour crane is yellow.", learning_id="there", scope=session_scope("s2")),
        make_learning("The color of Vienna is red.", learning_id="far", scope=session_scope("s2")),
        make_learning(
            "Harbour crane is secret.",
            learning_id="hidden",
            scope=session_scope("s2"),
            sensitivity=Sensitivity.SENSITIVE,
        ),
        ATLAS,
    )
    asked = "What is the color of the harbour crane?"

    entries = {
        it.source_id: it for it in inspection.explain(Reader(session_id="s1"), asked).entries
    }

    assert entries.keys() == {"there", ATLAS.learning_id}
    assert (entries["there"].reason, entries["there"].scope) == (
        "in_another_scope",
        session_scope("s2"),
    )
    assert entries["there"].explanation.endswith("does not see its scope: session:s2")
    assert context(inspection, asked) == []


# Many


@pytest.fixture
def crowd(units: Units) -> Units:
    """More learnings than are read one by one: most of them provisional, and old ones that matter."""
    with units.write() as unit:
        unit.learnings.add(make_learning("Harbour crane is yellow.", learning_id="old"))
        unit.learnings.add(
            make_learning("Harbour crane is red.", learning_id="mine", scope=SESSION)
        )
        for number in range(SCAN_LIMIT + 5):
            unit.learnings.add(
                make_learning(
                    f"Barrel {number} holds rain",
                    learning_id=f"barrel-{number:03}",
                    published_at_ms=NOW + number,
                )
            )
        for number in range(SCAN_LIMIT):
            unit.learnings.add(
                make_learning(
                    f"Harbour crane {number}",
                    learning_id=f"maybe-{number:03}",
                    published_at_ms=NOW + 1000 + number,
                    status=LearningStatus.PROVISIONAL,
                    publish_tier=Tier.PROVISIONAL,
                )
            )
    return units


def test_among_many_words_find_what_is_old_and_provisional_ones_do_not_hide_it(
    crowd: Units,
) -> None:
    with crowd.read() as unit:
        session = require_session(unit, "s1")
        found = learn_context(unit, session, "harbour crane", NOW)
        other = learn_context(unit, require_session(unit, "s2"), "yellow", NOW)
        only_wide = learn_context(unit, session, "yellow", NOW)
        nothing = learn_context(unit, session, "zeppelin", NOW)
        browsed = learn_context(unit, session, None, NOW)
        asked = learn_context(unit, session, "what do you remember?", NOW)

    assert [it.learning_id for it in found.kept] == ["mine"]
    assert [it.learning_id for it in other.kept] == ["old"]
    # The narrower scope wins, although no word of the input finds it.
    assert [it.reasons for it in only_wide.considered] == [("overridden_by_narrower_scope",)]
    assert nothing == replace(nothing, considered=(), is_ranked=True)
    assert asked.kept == browsed.kept
    newest = [f"barrel-{at:03}" for at in range(SCAN_LIMIT + 4, 0, -1)]
    assert [it.learning_id for it in browsed.kept] == ["mine", *newest[:31]]
    assert browsed.omitted > 0
    assert (asked.is_browsed, browsed.is_browsed) == (True, False)


def test_among_many_what_was_said_together_with_the_best_is_looked_at_too(units: Units) -> None:
    talk = LearningSource(session_id="long-ago")
    keep(
        units,
        make_learning("The barrel rope is blue.", learning_id="together", source=talk),
        make_learning("It smells of tar.", learning_id="wordless", source=talk),
        make_learning("A heron sits there.", learning_id="best", source=talk),
        *(
            make_learning(f"The barrel {number} is blue.", learning_id=f"barrel-{number:03}")
            for number in range(SCAN_LIMIT + 5)
        ),
    )

    with units.read() as unit:
        found = learn_context(unit, require_session(unit, "s1"), "heron barrel", NOW)

    assert [it.learning_id for it in found.kept][:2] == ["best", "together"]
    assert "wordless" not in {it.learning.learning_id for it in found.considered}


def test_what_was_said_together_is_looked_at_by_words_that_are_too_common_elsewhere(
    units: Units, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(cast("Any", plan).__kwdefaults__, "budget", 100)
    monkeypatch.setattr(learned, "POSTINGS_BUDGET", 100)
    # So many entries a single talk is taken to have.
    monkeypatch.setattr(term_index, "EXACT_COUNT", 50)
    talk = LearningSource(session_id="long-ago")
    keep(
        units,
        make_learning("The barrel rope is blue.", learning_id="together", source=talk),
        make_learning("A heron sits there.", learning_id="best", source=talk),
        *(
            make_learning(f"The barrel {number} is blue.", learning_id=f"barrel-{number:03}")
            for number in range(SCAN_LIMIT + 5)
        ),
    )

    with units.read() as unit:
        found = learn_context(unit, require_session(unit, "s1"), "heron barrel", NOW)

    assert [it.learning_id for it in found.kept] == ["best", "together"]


def test_among_many_a_search_finds_by_words_and_browses_by_time(
    crowd: Units, inspection: MemoryInspection
) -> None:
    yellow = inspection.search(Reader(session_id="s1"), "yellow", None).results
    newest = inspection.search(Reader(session_id="s1"), None, 2).results
    kinds = inspection.search(Reader(session_id="s1"), "session", None).results
    explained = inspection.explain(Reader(session_id="s1"), "yellow")

    assert [it.source_id for it in yellow] == ["old"]
    assert [it.source_id for it in newest] == [f"maybe-{SCAN_LIMIT - at}" for at in (1, 2)]
    assert explained.truncated
    assert len(explained.entries) == 500
    assert kinds == ()

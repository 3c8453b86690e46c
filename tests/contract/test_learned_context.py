"""What prompts are told of learnings, what looking shows of it, and why: on both databases."""

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.support.factories import (
    NOW,
    bound,
    make_member,
    make_persona,
    make_project,
    make_session,
)
from tests.support.learning_factories import (
    ATLAS,
    PERSONA,
    PROJECT,
    SESSION,
    SNACK,
    keep,
    make_learning,
)
from tests.support.run_harness import RunHarness, no_skills, restarted
from tests.support.run_memory_reads import LEARNED, section_in, system_text, told
from understudy.agent.loop import AgentLoop
from understudy.core.errors import DamagedRecord, Unavailable
from understudy.core.page import PageRequest
from understudy.core.text import estimate_tokens
from understudy.learnings.model import (
    Applies,
    Kind,
    Learning,
    LearningStatus,
    PolicyDecision,
    Sensitivity,
    Tier,
    Verification,
)
from understudy.memory.report import Counters
from understudy.memory.retention import Keeper
from understudy.retrieval.inspection import MemoryInspection, Reader
from understudy.retrieval.recollect import Recollector
from understudy.retrieval.report import injection_report
from understudy.runs.model import RunStatus
from understudy.sessions.learning_scopes import session_scope
from understudy.sessions.model import require_session
from understudy.settings import RouteConfig
from understudy.storage.learnings import LearningStore
from understudy.storage.schema import learnings as learnings_table
from understudy.storage.unit import Units
from understudy.testing.clock import FrozenClock
from understudy.testing.fake_model import FakeModel

pytestmark = pytest.mark.one_database


@pytest.fixture
def inspection(units: Units) -> MemoryInspection:
    clock = FrozenClock(NOW)
    return MemoryInspection(units, clock, Keeper(clock, Counters()), no_skills(units, clock))


def context(inspection: MemoryInspection, query: str | None = None) -> list[str]:
    return [
        it.learning_id for it in inspection.context(Reader(session_id="s1"), query).learned.kept
    ]


def whole_report(harness: RunHarness, run_id: str) -> dict[str, Any]:
    with harness.units.read() as unit:
        found = injection_report(unit, run_id)
    assert found is not None
    return dict(found)


def report_of(harness: RunHarness, run_id: str) -> dict[str, Any]:
    return dict(whole_report(harness, run_id)["learned"])


async def ask(harness: RunHarness, fake: FakeModel, content: str) -> list[str]:
    """The learnings that a run with this input is told of."""
    await harness.run(content)
    return told(fake, name=LEARNED)


def recollector(harness: RunHarness) -> Recollector:
    worker = harness.executor.worker
    assert isinstance(worker, AgentLoop)
    return worker.prompts.memories


# Scopes


@pytest.mark.every_database
def test_a_session_sees_its_own_its_personas_its_projects_and_the_workspace_in_this_order(
    units: Units, inspection: MemoryInspection
) -> None:
    with units.write() as unit:
        persona = make_persona("helper")
        unit.personas.add(persona)
        session = require_session(unit, "s1")
        unit.sessions.update(replace(session, **bound(persona)), expected_version=session.version)
        unit.projects.add(make_project("garden", members=(make_member("s1"),)))
    keep(
        units,
        make_learning("said in the workspace", learning_id="w"),
        make_learning("said in the project", learning_id="g", scope=PROJECT),
        make_learning("said to the persona", learning_id="p", scope=PERSONA),
        make_learning("said here", learning_id="s", scope=SESSION),
        make_learning("said elsewhere", learning_id="x", scope=session_scope("s2")),
    )

    assert context(inspection) == ["s", "p", "g", "w"]
    assert {
        it.source_id for it in inspection.search(Reader(session_id="s1"), None, None).results
    } == set("spgw")
    assert {
        it.source_id for it in inspection.explain(Reader(session_id="s1"), None).entries
    } == set("spgw")

    with units.write() as unit:
        session = require_session(unit, "s1")
        unit.sessions.update(replace(session, persona=None), expected_version=session.version)
        project = unit.projects.get("garden")
        assert project is not None
        unit.projects.update(replace(project, members=()), expected_version=project.version)

    assert context(inspection) == ["s", "w"]


# What an input brings in


async def test_only_what_matches_is_told_unless_memory_is_asked_for(
    harness: RunHarness, fake: FakeModel, inspection: MemoryInspection
) -> None:
    keep(harness.units, ATLAS, SNACK)
    both = ["lrn_snack", "lrn_atlas"]
    for query, expected in {
        "What color is Atlas?": ["lrn_atlas"],
        "What is the deployment status?": [],
        "workspace fact": [],
        "Use durable memory if it exists.": both,
        "what do you remember": both,
        "Utilise la mémoire": both,
        "bạn nhớ gì về tôi?": both,
        "你还记得什么": both,
    }.items():
        assert context(inspection, query) == expected, query
        assert await ask(harness, fake, query) == expected, query
        assert ("## learned_context" in system_text(fake)) == bool(expected)


@pytest.mark.every_database
async def test_a_standing_learning_is_told_whatever_is_asked_and_what_has_no_room_is_counted(
    harness: RunHarness, fake: FakeModel, units: Units, inspection: MemoryInspection
) -> None:
    always = [
        make_learning(
            f"Always answer in language {at}.", learning_id=f"lrn_{at:02}", applies=Applies.ALWAYS
        )
        for at in range(14)
    ]
    keep(
        units,
        ATLAS,
        *always,
        replace(always[0], learning_id="lrn_p", status=LearningStatus.PROVISIONAL),
    )

    run_id = (await harness.run("How tall is the Eiffel tower?")).run.run_id

    first = [it.learning_id for it in always[:12]]
    assert told(fake, name=LEARNED) == context(inspection, "zeppelin") == first
    assert "### lrn_00 (fact, always)" in section_in(system_text(fake), LEARNED)
    assert section_in(system_text(fake), LEARNED).endswith(
        "Lower-ranked notes omitted: 2 (2 beyond the limits)."
    )
    report = report_of(harness, run_id)
    assert report["counts"]["over_standing_limit"] == 2
    assert recollector(harness).learned.snapshot()["prompt_limit_omitted_total"] == 2
    why = {
        it.source_id: it for it in inspection.explain(Reader(session_id="s1"), "zeppelin").entries
    }
    assert (why["lrn_00"].applies, why["lrn_00"].explanation) == (
        "always",
        "it applies to every task",
    )
    assert [why[it].reason for it in ("lrn_13", "lrn_p", ATLAS.learning_id)] == [
        "over_standing_limit",
        "provisional",
        "no_match",
    ]
    assert await ask(harness, fake, "the Atlas color") == [*first, ATLAS.learning_id]


async def test_other_forms_of_a_word_are_found_and_words_of_questions_are_not(
    harness: RunHarness, fake: FakeModel
) -> None:
    [editors, _] = keep(
        harness.units,
        make_learning("Preferred editors are Helix and Vim."),
        make_learning("You can use it in prod"),
    )

    assert await ask(harness, fake, "which editor do I like") == [editors]
    assert await ask(harness, fake, "can you do this in staging") == []


@pytest.mark.parametrize(("query", "found"), [("東京", True), ("大阪", False)])
def test_other_scripts_are_found_too(
    units: Units, inspection: MemoryInspection, query: str, found: bool
) -> None:
    keep(units, make_learning("東京 office color is vermilion.", learning_id="tokyo"), SNACK)

    expected = ["tokyo"] if found else []
    assert context(inspection, query) == expected
    assert [
        it.source_id for it in inspection.search(Reader(session_id="s1"), query, None).results
    ] == expected


# The rules of visibility

TEXT = "The crane is yellow."
RULES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "manual": ({}, ()),
    "nobody": ({"policy_decision": None, "policy_actor": None}, ()),
    "verified": (
        {
            "policy_decision": PolicyDecision.AUTOMATIC,
            "policy_actor": "daemon",
            "verification_status": Verification.VERIFIED,
        },
        (),
    ),
    "sensitive": ({"sensitivity": Sensitivity.SENSITIVE}, ("sensitive",)),
    "provisional": (
        {"status": LearningStatus.PROVISIONAL, "publish_tier": Tier.PROVISIONAL},
        ("provisional",),
    ),
    "failed": (
        {
            "status": LearningStatus.PROVISIONAL,
            "publish_tier": Tier.PROVISIONAL,
            "verification_status": Verification.FAILED,
        },
        ("verification_failed", "provisional"),
    ),
    "unverified": (
        {"policy_decision": PolicyDecision.AUTOMATIC, "policy_actor": "daemon"},
        ("automatic_unverified",),
    ),
    "escalated": ({"policy_decision": PolicyDecision.ESCALATED}, ("escalated",)),
    "expired": ({"expires_at_ms": NOW}, ("expired",)),
    "later": ({"expires_at_ms": NOW + 10**9}, ()),
    "revoked": ({"status": LearningStatus.REVOKED}, ("revoked",)),
    "superseded": ({"status": LearningStatus.SUPERSEDED}, ("superseded",)),
    "replaced": ({}, ("replaced",)),
    "replacement": ({"supersedes": "replaced"}, ()),
    "procedure": ({"kind": Kind.PROCEDURE}, ("kind_not_told",)),
    "summary": ({"kind": Kind.RUN_SUMMARY}, ("kind_not_told",)),
}
TOLD = {name for name, (_, reasons) in RULES.items() if not reasons}
HIDDEN = {"sensitive", "failed", "expired", "revoked", "superseded", "replaced"}


def rule_learnings() -> list[Learning]:
    return [make_learning(TEXT, learning_id=name, **fields) for name, (fields, _) in RULES.items()]


@pytest.mark.every_database
async def test_prompt_context_search_and_explanation_go_by_the_same_rules(
    harness: RunHarness, fake: FakeModel, inspection: MemoryInspection
) -> None:
    harness.clock.ms = NOW
    keep(harness.units, *rule_learnings())

    explained = {
        it.source_id: it.reasons
        for it in inspection.explain(Reader(session_id="s1"), "crane").entries
    }
    found = {
        it.source_id: it for it in inspection.search(Reader(session_id="s1"), "crane", 50).results
    }

    assert explained == {name: reasons for name, (_, reasons) in RULES.items()}
    assert set(context(inspection, "crane")) == set(context(inspection)) == TOLD
    assert set(await ask(harness, fake, "which crane?")) == TOLD
    assert set(found) == RULES.keys() - HIDDEN
    assert {name for name, it in found.items() if it.prompt_eligible} == TOLD
    provisional = found["provisional"]
    assert (provisional.publish_tier, provisional.learning_status) == ("provisional",) * 2
    assert found["verified"].verification_status == "verified"


def test_the_narrower_scope_is_preferred(units: Units, inspection: MemoryInspection) -> None:
    keep(
        units,
        make_learning("Preferred editor is Vim.", learning_id="wide"),
        make_learning("Preferred editor is Helix.", learning_id="narrow", scope=SESSION),
    )

    entries = {
        it.source_id: it for it in inspection.explain(Reader(session_id="s1"), "editor").entries
    }

    assert context(inspection, "editor") == ["narrow"]
    assert entries["wide"].reasons == ("overridden_by_narrower_scope",)
    assert entries["narrow"].injected


# One budget


@pytest.fixture
async def narrowed(
    harness: RunHarness, fake: FakeModel
) -> AsyncIterator[Callable[[int], RunHarness]]:
    """Makes the same run harness with a model whose prompts have room for so many tokens."""
    made: list[RunHarness] = []

    def narrow(tokens: int) -> RunHarness:
        # A tenth of a small window stays free, and a quarter is for the answer.
        route = RouteConfig(
            provider="openai",
            model="m",
            base_url=fake.url,
            max_attempts=1,
            context_window=int(tokens / 0.65) + 1,
        )
        made.append(restarted(harness, settings=replace(harness.settings, routes={"a": route})))
        return made[-1]

    yield narrow
    for each in made:
        await each.providers.close()


async def test_with_room_for_four_the_four_best_are_told_and_the_rest_are_counted(
    harness: RunHarness, fake: FakeModel, narrowed: Callable[[int], RunHarness]
) -> None:
    keep(
        harness.units,
        *(
            make_learning(f"{'Yellow' if at < 4 else 'Old'} crane {at}", learning_id=f"lrn_{at}")
            for at in range(10)
        ),
    )
    first = (await harness.run("the yellow crane")).run.run_id
    assert len(told(fake, name=LEARNED)) == 10
    four = section_in(system_text(fake), LEARNED).split("\n\n### ")[:5]
    room = estimate_tokens("\n\n### ".join(four)) + 40
    narrow = narrowed(whole_report(harness, first)["budget"]["base_tokens"] + room)

    run_id = (await narrow.run("the yellow crane", session_id="s2")).run.run_id

    assert sorted(told(fake, name=LEARNED)) == ["lrn_0", "lrn_1", "lrn_2", "lrn_3"]
    assert section_in(system_text(fake), LEARNED).endswith(
        "Lower-ranked notes omitted: 6 (6 for lack of room)."
    )
    assert recollector(narrow).learned.snapshot() == {
        "injected_total": 4,
        "prompt_limit_omitted_total": 6,
        "below_floor_total": 0,
    }
    report = whole_report(narrow, run_id)
    assert report["learned"]["counts"]["over_budget"] == 6
    assert report["budget"]["used_tokens"] <= report["budget"]["memory_tokens"]
    with narrow.units.read() as unit:
        uses = [
            use
            for at in range(10)
            for use in unit.learning_uses.of_learning(f"lrn_{at}", PageRequest()).items
        ]
    assert [use.run_id for use in uses].count(run_id) == 4


@pytest.mark.every_database
async def test_what_only_tries_something_out_is_told_and_counts_as_no_use(
    harness: RunHarness, fake: FakeModel
) -> None:
    keep(harness.units, ATLAS)
    with harness.units.write() as unit:
        unit.sessions.add(make_session("trial", trial_id="trl_1"))

    await harness.run("inspect Atlas", session_id="trial")

    assert told(fake, name=LEARNED) == [ATLAS.learning_id]
    with harness.units.read() as unit:
        assert unit.learning_uses.count(ATLAS.learning_id) == 0


async def test_what_learnings_take_is_not_there_for_runs(
    harness: RunHarness, fake: FakeModel, narrowed: Callable[[int], RunHarness]
) -> None:
    keep(harness.units, ATLAS)
    await harness.run("inspect Atlas")
    second = (await harness.run("What color is Atlas?")).run.run_id
    before = whole_report(harness, second)
    narrow = narrowed(before["budget"]["base_tokens"] + before["learned"]["used_tokens"] + 60)

    run_id = (await narrow.run("What color is Atlas?")).run.run_id

    assert told(fake, name=LEARNED) == ["lrn_atlas"]
    assert told(fake) == []
    report = whole_report(narrow, run_id)
    assert report["counts"]["over_budget"] == 2
    assert narrow.keeper.counters.snapshot()["prompt_limit_omitted_total"] == 2
    assert recollector(narrow).learned.snapshot()["prompt_limit_omitted_total"] == 0


@pytest.mark.every_database
async def test_both_sections_stand_in_order_and_share_what_there_is(
    harness: RunHarness, fake: FakeModel
) -> None:
    keep(harness.units, ATLAS)
    await harness.run("inspect Atlas")

    run_id = (await harness.run("What color is Atlas?")).run.run_id

    headings = [line for line in system_text(fake).splitlines() if line.startswith("## ")]
    assert headings[-2:] == ["## learned_context", "## recovered_memory"]
    report = whole_report(harness, run_id)
    sections = [
        f"\n\n## {name}\n\n{section_in(system_text(fake), name)}"
        for name in (LEARNED, "recovered_memory")
    ]
    used = [report["learned"]["used_tokens"], report["used_tokens"]]
    assert used == [estimate_tokens(each) for each in sections]
    assert report["budget"]["used_tokens"] == sum(used)


# What is noted down


@pytest.mark.every_database
async def test_a_run_notes_what_it_was_told_of_in_the_version_of_then(
    harness: RunHarness, fake: FakeModel
) -> None:
    keep(harness.units, ATLAS, SNACK)
    with harness.units.write() as unit:
        unit.learnings.update(replace(ATLAS, confidence=90, version=2), expected_version=1)

    run_id = (await harness.run("What color is Atlas?")).run.run_id

    with harness.units.read() as unit:
        [use] = unit.learning_uses.of_learning("lrn_atlas", PageRequest()).items
        assert unit.learning_uses.count("lrn_snack") == 0
    assert (use.run_id, use.learning_version, use.session_id) == (run_id, 2, "s1")
    report = report_of(harness, run_id)
    assert report["counts"]["included"] == 1
    assert {it["learning_id"]: it["reasons"] for it in report["entries"]} == {
        "lrn_atlas": [],
        "lrn_snack": ["no_match"],
    }
    assert report["entries"][0]["matched"] == {"content": ["color", "atlas"]}
    assert "vermilion" not in json.dumps(report)


async def test_looking_changes_nothing(
    harness: RunHarness, fake: FakeModel, inspection: MemoryInspection
) -> None:
    keep(harness.units, *(make_learning(f"Crane {number} is tall") for number in range(40)))
    before = recollector(harness).learned.snapshot()

    for _ in range(3):
        assert inspection.context(Reader(session_id="s1"), "crane").learned.omitted == 8
        inspection.explain(Reader(session_id="s1"), "crane")
        inspection.search(Reader(session_id="s1"), "crane", None)

    assert recollector(harness).learned.snapshot() == before
    await harness.run("crane")
    assert recollector(harness).learned.snapshot() == {
        "injected_total": 32,
        "prompt_limit_omitted_total": 8,
        "below_floor_total": 0,
    }


async def test_one_section_that_cannot_be_made_does_not_cost_the_other(
    harness: RunHarness, fake: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(harness.units, ATLAS)
    first = (await harness.run("inspect Atlas")).run.run_id

    def gone(*_: Any, **__: Any) -> Any:
        raise Unavailable("learnings_unavailable", detail="the disk is gone")

    monkeypatch.setattr(LearningStore, "readable", gone)
    run = (await harness.run("What color is Atlas?")).run

    assert run.status is RunStatus.COMPLETED
    assert told(fake, name=LEARNED) == []
    assert told(fake) == [first]
    assert report_of(harness, run.run_id)["problem"]["code"] == "learnings_unavailable"


@pytest.mark.every_database
def test_a_damaged_learning_is_passed_over(units: Units, inspection: MemoryInspection) -> None:
    keep(units, ATLAS, SNACK)
    with units.write() as unit:
        unit.connection.execute(
            learnings_table.update()
            .where(learnings_table.c.learning_id == "lrn_atlas")
            .values(body={"content": 7})
        )
    with units.read() as unit, pytest.raises(DamagedRecord):
        unit.learnings.get("lrn_atlas")

    assert context(inspection) == ["lrn_snack"]
    assert [
        it.source_id for it in inspection.search(Reader(session_id="s1"), None, None).results
    ] == ["lrn_snack"]
    assert [
        it.source_id for it in inspection.explain(Reader(session_id="s1"), "banana").entries
    ] == ["lrn_snack"]

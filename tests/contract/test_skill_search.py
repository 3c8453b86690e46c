"""Skills in what a session remembers and finds: only what its agent may use, and only when asked."""

from pathlib import Path

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import make_session
from tests.support.skill_catalogue_harness import SkillCatalogueHarness
from tests.support.skill_factories import make_skill
from understudy.memory.report import Counters
from understudy.memory.retention import Keeper
from understudy.retrieval.hits import ResultKind, SearchResult
from understudy.retrieval.inspection import MemoryInspection, Reader
from understudy.skills.model import Visibility


@pytest.fixture
def skills(database: UnitsOnDatabase, tmp_path: Path) -> SkillCatalogueHarness:
    skills = SkillCatalogueHarness(database.units, tmp_path)
    words = "Writes the quarterly invoice"
    skills.keep("alpha", name="Alpha", description=words, visibility=Visibility.PUBLIC)
    skills.keep("beta", description="Something else", frontmatter={"when-to-use": "for an invoice"})
    skills.keep("gamma", description=words, owner_id="bob")
    return skills


@pytest.fixture
def inspection(skills: SkillCatalogueHarness) -> MemoryInspection:
    keeper = Keeper(skills.clock, Counters())
    return MemoryInspection(skills.units, skills.clock, keeper, skills.catalogue)


def found(inspection: MemoryInspection, query: str | None, session_id: str = "s1") -> list[str]:
    return [one.source_id for one in results(inspection, query, session_id)]


def results(
    inspection: MemoryInspection, query: str | None, session_id: str = "s1"
) -> tuple[SearchResult, ...]:
    return inspection.search(Reader(session_id=session_id, user_id="ann"), query, None).results


def test_a_skill_is_found_with_a_query_and_by_browsing(inspection: MemoryInspection) -> None:
    assert found(inspection, "invoice") == ["skl_alpha", "skl_beta"]
    assert found(inspection, None) == ["skl_alpha", "skl_beta"]
    assert found(inspection, "   ") == ["skl_alpha", "skl_beta"]
    assert found(inspection, "unheard-of") == []


def test_what_a_result_says_of_a_skill(inspection: MemoryInspection) -> None:
    alpha, beta = results(inspection, "quarterly invoice")

    assert alpha.kind is ResultKind.SKILL
    assert (alpha.title, alpha.excerpt) == ("Alpha", "Writes the quarterly invoice")
    assert alpha.timestamp_ms == 0
    assert alpha.scope is None
    assert alpha.prompt_eligible
    assert alpha.matched_fields == ("description",)
    assert beta.matched_fields == ("when_to_use",)
    assert alpha.score > beta.score > 0


def test_a_denied_skill_never_appears(
    skills: SkillCatalogueHarness, inspection: MemoryInspection
) -> None:
    with skills.units.write() as unit:
        unit.sessions.add(make_session("denied", capability_scope={"skill_deny": ["alpha"]}))
        unit.sessions.add(make_session("broken", capability_scope={"skil_deny": ["alpha"]}))

    assert found(inspection, "invoice", "denied") == ["skl_beta"]
    assert found(inspection, "alpha", "denied") == []
    context = inspection.context(Reader(session_id="denied", user_id="ann"), "invoice")
    assert [one.slug for one in context.skills] == ["beta"]
    assert inspection.context(Reader(session_id="broken", user_id="ann"), "invoice").skills == ()


def test_the_context_shows_what_a_prompt_would_list(
    skills: SkillCatalogueHarness, inspection: MemoryInspection
) -> None:
    skills.put_local("notes")

    context = inspection.context(Reader(session_id="s1", user_id="ann"), None)

    assert context.skills == skills.offered()
    assert [one.slug for one in context.skills] == ["alpha", "beta", "notes"]
    of_bob = inspection.context(Reader(session_id="s1", user_id="bob"), None).skills
    assert [one.slug for one in of_bob] == ["alpha", "gamma", "notes"]
    # Nobody in particular sees what is open to all.
    assert [one.slug for one in inspection.context(Reader(session_id="s1"), None).skills] == [
        "alpha",
        "notes",
    ]


def test_one_in_a_folder_is_found_as_such(
    skills: SkillCatalogueHarness, inspection: MemoryInspection
) -> None:
    skills.put_local("notes", description="Takes notes of an invoice")

    assert "local:notes" in found(inspection, "invoice")


@pytest.mark.one_database
def test_among_very_many_the_best_are_found(
    skills: SkillCatalogueHarness, inspection: MemoryInspection
) -> None:
    with skills.units.write() as unit:
        for at in range(320):
            unit.skills.add(make_skill(f"s-{at:03}", description="writes reports of all kinds"))

    assert found(inspection, "invoice") == ["skl_alpha", "skl_beta"]
    assert len(found(inspection, "reports")) == 12

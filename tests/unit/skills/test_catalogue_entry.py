"""Which of the skills on offer is meant, and which a session lets through."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.support.factories import make_session
from understudy.core.scope import Gate
from understudy.sessions.model import PersonaSnapshot
from understudy.skills.access import AccessReason
from understudy.skills.catalogue_entry import CatalogueEntry, by_name, named, permits, skill_gate
from understudy.skills.model import SkillOrigin


def offered(slug: str, name: str | None = None, **fields: Any) -> CatalogueEntry:
    values: dict[str, Any] = {
        "description": "Does it",
        "origin": SkillOrigin.MANAGED,
        "version": 1,
        "digest": "0" * 64,
        "skill_id": f"skl_{slug}",
        "reason": AccessReason.OWNER,
    }
    return CatalogueEntry(slug=slug, name=name or slug, **(values | fields))


def persona(scope: Mapping[str, list[str]]) -> PersonaSnapshot:
    return PersonaSnapshot(
        persona_id="p",
        persona_version=1,
        display_name="P",
        soul="",
        capability_scope=scope,
        default_skills=(),
        digest="d",
        bound_at_ms=0,
    )


def test_a_skill_is_found_by_slug_id_and_name_and_the_slug_comes_first() -> None:
    one = offered("weekly-report", "Weekly report")
    other = offered("other", "weekly-report")
    local = offered("notes", skill_id=None, origin=SkillOrigin.LOCAL)
    promoted = offered("learning:notes", skill_id=None, origin=SkillOrigin.PROMOTED)

    assert named([other, one], "weekly-report") == (one,)
    assert named([other, one], "skl_weekly-report") == (one,)
    assert named([other, one], " Weekly report ") == (one,)
    assert named([other, one], "WEEKLY REPORT") == (one,)
    assert named([local, promoted], "local:notes") == (local,)
    assert named([local, promoted], "learning:notes") == (promoted,)
    assert named([local, promoted], "promoted:learning:notes") == (promoted,)
    assert named([other, one], "weekly") == ()
    assert named([], "weekly-report") == ()


def test_a_name_that_fits_several_means_all_of_them() -> None:
    one, twin = offered("weekly", "Weekly report"), offered("a-twin", "WEEKLY  Ｒeport")

    assert named([twin, one], "Weekly report") == (twin, one)
    assert named([twin, one], "weekly") == (one,)


def test_lists_are_in_the_order_of_names_in_any_case() -> None:
    found = by_name([offered("c", "beta"), offered("b", "Beta"), offered("a", "ALPHA")])

    assert [one.slug for one in found] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("gate", "passes"),
    [
        (Gate(), True),
        (Gate(allow=("alpha",)), True),
        (Gate(allow=("Alpha Two",)), True),
        (Gate(allow=("beta",)), False),
        (Gate(allow=()), False),
        (Gate(deny=("alpha",)), False),
        (Gate(deny=("Alpha Two",)), False),
        (Gate(deny=("*",)), False),
        (Gate(allow=("alpha",), deny=("Alpha Two",)), False),
    ],
)
def test_a_gate_knows_a_skill_by_its_slug_and_by_its_name(gate: Gate, passes: bool) -> None:
    assert permits(gate, slug="alpha", name="Alpha Two") is passes


def test_a_namesake_of_an_allowed_slug_does_not_pass() -> None:
    assert not permits(Gate(allow=("alpha",)), slug="impostor", name="alpha")
    # But who is denied is denied under every name.
    assert not permits(Gate(deny=("alpha",)), slug="impostor", name="alpha")


def test_a_session_without_a_scope_lets_every_skill_through() -> None:
    assert skill_gate(None) == Gate()
    assert skill_gate(make_session("s")) == Gate()


def test_persona_and_session_narrow_each_other_and_nothing_in_common_means_nothing() -> None:
    both = make_session(
        "s",
        persona=persona({"skill_allow": ["alpha", "beta"], "skill_deny": ["x"]}),
        capability_scope={"skill_allow": ["beta", "gamma"], "skill_deny": ["y"]},
    )
    disjoint = make_session(
        "s",
        persona=persona({"skill_allow": ["alpha"]}),
        capability_scope={"skill_allow": ["beta"]},
    )

    assert skill_gate(both) == Gate(allow=("beta",), deny=("x", "y"))
    gate = skill_gate(disjoint)
    assert gate is not None
    assert not any(permits(gate, slug=slug, name=slug) for slug in ("alpha", "beta", "gamma"))


@pytest.mark.parametrize("scope", [{"skill_alow": ["alpha"]}, {"skill_allow": "alpha"}])
def test_a_scope_that_cannot_be_read_lets_nothing_through(scope: Any) -> None:
    assert skill_gate(make_session("s", capability_scope=scope)) is None


def test_a_promoted_skill_taints_a_prompt_until_its_mark_is_cleared() -> None:
    promoted = offered("notes", origin=SkillOrigin.PROMOTED)
    assert not promoted.is_foreign_to("ann")
    assert replace(promoted, derived_from_untrusted=True).is_foreign_to("ann")

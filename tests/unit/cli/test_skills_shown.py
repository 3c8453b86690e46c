"""Skills as people read them."""

from typing import Any

from understudy.cli import skill_records
from understudy.cli.screen import field_lines, rows_of
from understudy.wire.skills import AgentSkillView, OfferedSkill, SkillDetail, SkillKept, SkillView

SKILL: dict[str, Any] = {
    "id": "skl_1",
    "slug": "weather",
    "name": "Weather",
    "description": "Tells the weather.",
    "origin": "managed",
    "owner_id": "ann",
    "visibility": "private",
    "status": "active",
    "enabled": True,
    "is_draft": False,
    "version": 3,
    "is_system": False,
    "tags": [],
    "missing_deps": [],
    "frontmatter": {},
    "digest": "d",
    "size": 10,
    "created_at_ms": 1,
    "updated_at_ms": 2,
    "actions": [],
}
RUNTIME: dict[str, Any] = {"context": "inline", "allowed_tools": [], "blocked_tools": []}


def kept(**more: Any) -> list[str]:
    return skill_records.kept_lines(SkillKept.model_validate({**SKILL, "unchanged": False, **more}))


def shown(**more: Any) -> str:
    view = SkillDetail.model_validate(
        {**SKILL, "instructions": "", "runtime": RUNTIME, "allowed_tools": [], **more}
    )
    return "\n".join(field_lines(skill_records.detail_pairs(view)))


def test_a_private_skill_tells_how_it_is_shared() -> None:
    assert kept() == [
        "weather is at version 3, private: for its owner alone",
        "  `understudy skills grant weather --agent AGENT` shares it",
    ]
    assert kept(visibility="internal") == [
        "weather is at version 3, internal: for those it is granted to"
    ]


def test_what_is_missing_and_what_did_not_change_is_said() -> None:
    assert "  it misses pip:x" in kept(deps_warning="it misses pip:x")
    (line,) = kept(unchanged=True)
    assert line.startswith("nothing changed: weather has this content already, in version 3")


def test_the_state_is_status_switch_and_what_is_missing() -> None:
    def state(**more: Any) -> str:
        return skill_records.state(SkillView.model_validate({**SKILL, **more}))

    assert state() == "active"
    assert state(enabled=False) == "active, off"
    assert state(status="archived", missing_deps=["pip:x", "jq"]) == "archived, misses 2"


def test_a_patch_says_how_far_it_went() -> None:
    assert skill_records.replaced_line(1, 3) == "  1 of 3 places replaced; --all replaces every one"
    assert skill_records.replaced_line(3, 3) == "  3 places replaced"


def test_what_hides_in_a_name_or_a_description_is_written_out() -> None:
    text = shown(name="We\u202eather", description="a\u200bb")

    assert "We\\u202eather" in text
    assert "a\\u200bb" in text


def test_where_and_how_it_runs_is_in_words() -> None:
    fork = {**RUNTIME, "context": "fork", "model": "small-1"}

    assert "apart, in a sidechain, model small-1" in shown(runtime=fork)
    assert "in the conversation" in shown()


def test_a_skill_in_a_folder_has_no_version() -> None:
    local = SkillView.model_validate({**SKILL, "version": 0, "origin": "local"})

    ((_, version, *_),) = rows_of([local], skill_records.COLUMNS)

    assert version is None
    assert "none kept" in shown(version=0, origin="local")


def test_a_session_is_told_why_and_an_agent_what_is_pinned() -> None:
    offered = OfferedSkill.model_validate(
        {**SKILL, "context": "fork", "reason": "agent_grant", "version": 2}
    )
    agent = AgentSkillView.model_validate(
        {**SKILL, "granted": True, "allowed": False, "reason": "none", "pinned_version": 1}
    )

    ((*_, because, _),) = rows_of([offered], skill_records.OFFERED)
    ((_, version, *_),) = rows_of([agent], skill_records.OF_AGENT)

    assert because == "it is granted to the agent, runs apart"
    assert version == "1 (pinned)"

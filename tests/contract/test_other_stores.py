"""Agents and files, personas, projects, tokens, audit, receipts, responses, revisions, switches."""

from dataclasses import replace

import pytest
import sqlalchemy as sa

from tests.support.factories import (
    NOW,
    ODD_TEXTS,
    make_agent,
    make_entry,
    make_file,
    make_member,
    make_persona,
    make_project,
    make_run,
    make_token,
)
from understudy.agents.model import AgentType
from understudy.core.audit import AuditOutcome
from understudy.core.errors import StaleVersion
from understudy.core.page import PageRequest
from understudy.core.principal import Role
from understudy.runs.model import DebugRequest, Receipt
from understudy.runtime.service import Revision
from understudy.sessions.model import ChannelNote, DefaultSkill, MemberKind, ProjectStatus
from understudy.storage.schema import projects
from understudy.storage.unit import Units

odd_texts = pytest.mark.parametrize("odd", ODD_TEXTS.values(), ids=ODD_TEXTS.keys())


# Agents and their files


def test_an_agent_comes_back_as_it_was_stored(units: Units) -> None:
    agent = make_agent(
        "scout",
        agent_type=AgentType.OPEN,
        route="a",
        max_tool_iterations=3,
        other_config={"self_evolve": True, "own": [1]},
        permissions={"x": 1},
        version=4,
    )
    with units.write() as unit:
        assert unit.agents.add(agent)
        assert not unit.agents.add(replace(agent, display_name="other"))

        assert unit.agents.get("scout") == agent
        assert [a.agent_id for a in unit.agents.page(PageRequest()).items] == ["default", "scout"]


def test_an_agent_changed_meanwhile_is_not_overwritten(units: Units) -> None:
    with pytest.raises(StaleVersion), units.write() as unit:
        unit.agents.update(make_agent(version=2), expected_version=9)


def test_an_agent_with_a_session_is_in_use(units: Units) -> None:
    with units.write() as unit:
        unit.agents.add(make_agent("scout"))

        assert unit.agents.in_use("default")
        assert not unit.agents.in_use("scout")


def test_every_version_of_a_file_is_kept_and_the_newest_is_in_force(units: Units) -> None:
    versions = [make_file(content=f"v{n}", version=n, run_id=f"r{n}") for n in (1, 2, 3)]
    with units.write() as unit:
        for file in versions:
            assert unit.agents.add_file(file)
        assert not unit.agents.add_file(replace(versions[0], content="rewritten"))
        unit.agents.add_file(make_file("AGENTS.md", "rules"))

        assert unit.agents.file("default", "SOUL.md") == versions[2]
        assert unit.agents.file("default", "SOUL.md", version=1) == versions[0]
        assert unit.agents.file("default", "SOUL.md", version=9) is None
        assert [f.name for f in unit.agents.files("default")] == ["AGENTS.md", "SOUL.md"]
        assert unit.agents.files("default")[1].version == 3
        page = unit.agents.file_versions("default", "SOUL.md", PageRequest(limit=2))
        assert [f.version for f in page.items] == [3, 2]
        rest = PageRequest.parse(limit=2, cursor=page.next_cursor)
        assert [f.version for f in unit.agents.file_versions("default", "SOUL.md", rest).items] == [
            1
        ]


def test_deleting_an_agent_takes_its_files_along(units: Units) -> None:
    with units.write() as unit:
        unit.agents.add(make_agent("scout"))
        unit.agents.add_file(make_file(agent_id="scout"))

        assert unit.agents.delete("scout")
        assert not unit.agents.delete("scout")
        assert unit.agents.files("scout") == ()


@odd_texts
def test_odd_characters_in_files_and_settings_survive(units: Units, odd: str) -> None:
    with units.write() as unit:
        unit.agents.add_file(make_file(content=odd))
        unit.agents.update(make_agent(other_config={odd: odd}, version=2), expected_version=1)
    with units.read() as unit:
        file, agent = unit.agents.file("default", "SOUL.md"), unit.agents.get("default")

    assert file is not None
    assert file.content == odd
    assert agent is not None
    assert agent.other_config == {odd: odd}


# Personas


def test_a_persona_comes_back_changes_and_goes(units: Units) -> None:
    persona = make_persona(
        capability_scope={"skill_allow": ["a"]},
        default_skills=(DefaultSkill(name="greet"),),
        metadata={"k": [1]},
    )
    changed = replace(persona, soul="B", version=2)
    with units.write() as unit:
        assert unit.personas.add(persona)
        assert not unit.personas.add(changed)
        assert unit.personas.get("helper") == persona
        unit.personas.update(changed, expected_version=1)
        assert unit.personas.get("helper") == changed
        assert unit.personas.delete("helper")
        assert not unit.personas.delete("helper")
        assert unit.personas.get("helper") is None


def test_a_stale_persona_is_not_written(units: Units) -> None:
    with units.write() as unit:
        unit.personas.add(make_persona())
    with pytest.raises(StaleVersion), units.write() as unit:
        unit.personas.update(make_persona(version=3), expected_version=2)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (None, ["100%", "a_b", "axb", "back\\slash"]),
        ("", ["100%", "a_b", "axb", "back\\slash"]),
        ("%", ["100%"]),
        ("_", ["a_b"]),
        ("\\", ["back\\slash"]),
        ("A_B", ["a_b"]),
        ("ANNA", ["axb"]),
        ("%%", []),
        ("'", []),
    ],
)
def test_a_query_is_looked_for_as_it_is_written(
    units: Units, query: str | None, found: list[str]
) -> None:
    with units.write() as unit:
        for persona_id in ("a_b", "100%", "back\\slash"):
            unit.personas.add(make_persona(persona_id))
        unit.personas.add(make_persona("axb", display_name="Anna"))

        page = unit.personas.page(PageRequest(), query=query)

    assert [persona.persona_id for persona in page.items] == found


# Projects


def test_a_project_comes_back_and_its_sessions_find_it(units: Units) -> None:
    person = make_member(
        "bob", member_kind=MemberKind.HUMAN_ACTOR, session_id=None, expertise_tags=("soil",)
    )
    project = make_project(
        description="beans",
        status=ProjectStatus.PAUSED,
        members=(make_member("s1"), person),
        channel_links=("c",),
        channel_notes={"c": ChannelNote(role="planning", metadata={"k": [1]})},
        metadata={"k": 1},
    )
    with units.write() as unit:
        assert unit.projects.add(project)
        assert not unit.projects.add(project)
        unit.projects.add(make_project("zoo", members=(make_member("s1"), make_member("s2"))))

        assert unit.projects.get("garden", lock=True) == project
        # A row from before there were notes.
        body = sa.select(projects.c.body).where(projects.c.project_id == "zoo")
        old = dict(unit.connection.execute(body).scalar_one())
        del old["channel_notes"]
        unit.connection.execute(
            sa.update(projects).where(projects.c.project_id == "zoo").values(body=old)
        )
        zoo = unit.projects.get("zoo")
        assert zoo is not None
        assert zoo.channel_notes == {}
        assert unit.projects.ids_for_session("s1") == ("garden", "zoo")
        unit.projects.update(replace(project, members=(person,), version=2), expected_version=1)
        assert unit.projects.ids_for_session("s1") == ("zoo",)
        assert unit.projects.delete("zoo")
        assert not unit.projects.delete("zoo")
        assert unit.projects.ids_for_session("s2") == ()
        assert [p.project_id for p in unit.projects.page(PageRequest()).items] == ["garden"]


# Tokens


def test_tokens_are_found_by_hash_listed_and_deleted(units: Units) -> None:
    first = make_token("tok_1")
    second = make_token("tok_2", role=Role.ADMIN, created_at_ms=NOW + 1)
    with units.write() as unit:
        assert not unit.tokens.any()
        unit.tokens.add(first)
        unit.tokens.add(second)

        assert unit.tokens.any()
        assert unit.tokens.by_hash(second.token_hash) == second
        assert unit.tokens.by_hash("unknown") is None
        assert unit.tokens.page(PageRequest()).items == (second, first)
        assert unit.tokens.delete("tok_1")
        assert not unit.tokens.delete("tok_1")
        assert unit.tokens.by_hash(first.token_hash) is None


# Audit


def test_the_audit_is_read_newest_first_by_resource_and_actor(units: Units) -> None:
    entries = [
        make_entry(),
        make_entry(actor="bob", resource="runs", version=3, request_id="req"),
        make_entry(actor="bob", outcome=AuditOutcome.REFUSED, reason="forbidden"),
    ]
    with units.write() as unit:
        for entry in entries:
            unit.audit.add(entry)

        page = unit.audit.page(PageRequest(), resource=None, actor=None)
        by_both = unit.audit.page(PageRequest(), resource="sessions", actor="bob")
        first = unit.audit.page(PageRequest(limit=2), resource=None, actor=None)
        after = PageRequest.parse(limit=2, cursor=first.next_cursor)
        second = unit.audit.page(after, resource=None, actor=None)

    assert list(page.items) == entries[::-1]
    assert by_both.items == (entries[2],)
    assert (*first.items, *second.items) == page.items


# Receipts and responses


def test_a_receipt_is_kept_once(units: Units) -> None:
    receipt = Receipt(key_hash="k", fingerprint="f", resource_id="r1", created_at_ms=NOW)
    with units.write() as unit:
        assert unit.receipts.get("k") is None
        assert unit.receipts.add(receipt)
        assert not unit.receipts.add(replace(receipt, resource_id="r2"))
        assert unit.receipts.get("k") == receipt


@odd_texts
def test_a_response_is_claimed_finished_and_found(units: Units, odd: str) -> None:
    with units.write() as unit:
        assert unit.responses.claim("k", "f", NOW) is None
        under_way = unit.responses.claim("k", "g", NOW + 1)
        assert under_way is not None
        assert (under_way.fingerprint, under_way.status) == ("f", None)
        unit.responses.finish("k", 201, {"text": odd})
        done = unit.responses.claim("k", "f", NOW + 2)

    assert done is not None
    assert (done.status, done.body, done.created_at_ms) == (201, {"text": odd}, NOW)


def test_an_abandoned_key_is_free_and_a_finished_one_stays(units: Units) -> None:
    with units.write() as unit:
        unit.responses.claim("k", "f", NOW)
        unit.responses.abandon("k")
        assert unit.responses.claim("k", "f", NOW) is None
        unit.responses.finish("k", 200, None)
        unit.responses.abandon("k")
        assert unit.responses.claim("k", "f", NOW) is not None


def test_a_cut_off_request_is_released_once(units: Units) -> None:
    with units.write() as unit:
        unit.responses.claim("k", "f", NOW, "old")
        cut_off = unit.responses.get("k")
        assert cut_off is not None
        unit.responses.release(cut_off)
        assert unit.responses.claim("k", "f", NOW + 1, "new") is None
        # Whoever saw the old claim as well leaves the new one alone.
        unit.responses.release(cut_off)
        assert unit.responses.claim("k", "f", NOW + 2, "late") is not None


def test_who_lost_a_key_neither_answers_nor_releases_it(units: Units) -> None:
    with units.write() as unit:
        unit.responses.claim("k", "f", NOW, "new")
        unit.responses.finish("k", 201, {"from": "old"}, "old")
        unit.responses.abandon("k", "old")
        known = unit.responses.get("k")
    assert known is not None
    assert (known.holder, known.status) == ("new", None)


def test_old_answers_and_cut_off_requests_are_forgotten(units: Units) -> None:
    with units.write() as unit:
        for key, at_ms, is_finished in (
            ("old", NOW - 100, True),
            ("fresh", NOW - 50, True),
            ("cut off", NOW - 50, False),
            ("under way", NOW - 5, False),
        ):
            unit.responses.claim(key, "f", at_ms)
            if is_finished:
                unit.responses.finish(key, 200, None)

        swept = unit.responses.sweep(before_ms=NOW - 60, unfinished_before_ms=NOW - 10)
        left = [
            key
            for key in ("old", "fresh", "cut off", "under way")
            if unit.responses.claim(key, "f", NOW) is not None
        ]

    assert swept == 2
    assert left == ["fresh", "under way"]


# Runtime revisions


def test_revisions_are_numbered_once_and_the_oldest_fall_away(units: Units) -> None:
    def revision(number: int) -> Revision:
        return Revision(
            revision=number,
            updated_at_ms=NOW,
            actor="root",
            setting="debug_level",
            document={"n": number},
            rollback_of_revision=number - 1 if number == 4 else None,
        )

    with units.write() as unit:
        assert unit.revisions.latest() is None
        for number in range(2, 6):
            assert unit.revisions.add(revision(number), keep=3)
        assert not unit.revisions.add(revision(5), keep=3)

        assert unit.revisions.latest() == revision(5)
        assert unit.revisions.all() == (revision(5), revision(4), revision(3))
        assert unit.revisions.get(4) == revision(4)
        assert unit.revisions.get(2) is None


# Tool switches and captured requests


def test_a_tool_is_on_until_somebody_switches_it_off(units: Units) -> None:
    with units.write() as unit:
        assert unit.tool_switches.disabled() == frozenset()
        unit.tool_switches.set("shell", enabled=False)
        unit.tool_switches.set("fetch", enabled=True)
        assert unit.tool_switches.disabled() == {"shell"}
        unit.tool_switches.set("shell", enabled=True)
        assert unit.tool_switches.disabled() == frozenset()


@odd_texts
def test_captured_requests_are_listed_in_order_with_their_answers(units: Units, odd: str) -> None:
    run = make_run()
    captures = [
        DebugRequest(run_id=run.run_id, step=step, attempt=1, at_ms=NOW, request={"text": odd})
        for step in (1, 2)
    ]
    with units.write() as unit:
        unit.runs.add(run)
        for capture in captures:
            unit.debug.add(capture)
        unit.debug.answer(run.run_id, step=2, attempt=1, response={"text": odd})
        unit.debug.answer(run.run_id, step=2, attempt=9, response={"text": "not mine"})

        listed = unit.debug.list(run.run_id)
        assert [replace(it, artifact_id="") for it in listed] == [
            captures[0],
            replace(captures[1], response={"text": odd}),
        ]
        assert unit.debug.list("run_other") == ()
        first, second = (it.artifact_id for it in listed)
        assert first != second
        assert unit.debug.get(run.run_id, second) == listed[1]
        for missing in ("", "dbg_", "dbg_0", "dbg_x", f"dbg_{2**62}", first.removeprefix("dbg_")):
            assert unit.debug.get(run.run_id, missing) is None
        assert unit.debug.get("run_other", first) is None

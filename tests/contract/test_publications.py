"""Reviewed memory as files of a repository: what is written, what comes back, what has drifted."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.api_in_process import Caller, serving
from tests.support.run_harness import make_settings
from understudy.api.in_process import OperationRefused
from understudy.foreign.connections import CONNECTED
from understudy.foreign.publication import MAX_EDITS
from understudy.settings import Settings
from understudy.testing.fake_model import FakeModel

pytestmark = pytest.mark.every_database

BEGIN, END = "<!-- understudy:begin -->", "<!-- understudy:end -->"
SKILL = "---\nname: {0}\ndescription: How we {0}.\n---\n\nSay it, then {0}.\n"


@pytest.fixture
def settings(tmp_path: Path, fake: FakeModel, prepared_url: str) -> Settings:
    return make_settings(tmp_path, fake.url, "a", database_url=prepared_url)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = (tmp_path / "work").resolve()
    folder.mkdir()
    return folder


async def learn(call: Caller, content: str, applies: str = "always", **fields: Any) -> str:
    body = {"content": content, "kind": "preference", "applies": applies, **fields}
    made: str = (await call("learnings.create", body=body))["learning_id"]
    return made


async def publish(call: Caller, work: Path, **fields: Any) -> Any:
    return await call("publications.create", body={"directory": str(work), **fields})


async def drift(call: Caller, work: Path, **fields: Any) -> dict[str, str]:
    """What differs, by path."""
    found = (await publish(call, work, check=True, **fields))["drift"]
    return {each["path"]: each["reason"] for each in found}


async def refusal(call: Caller, work: Path) -> Mapping[str, Any]:
    with pytest.raises(OperationRefused) as refused:
        await publish(call, work)
    return refused.value.problem


async def grant(call: Caller, slug: str, agent_id: str = "default") -> None:
    await call("skills.create", body={"content": SKILL.format(slug)})
    await call("skills.grant_agent", skill_id=slug, body={"agent_id": agent_id})


def block(work: Path, name: str = "AGENTS.md") -> str:
    text = (work / name).read_text()
    return text[text.index(BEGIN) : text.index(END) + len(END)]


async def test_standing_learnings_stand_in_both_files_each_with_its_id(
    settings: Settings, work: Path
) -> None:
    async with serving(settings) as call:
        kept = await learn(call, "Indent with tabs")
        await learn(call, "The port of staging is 8443", applies="when_relevant")
        made = await publish(call, work)

        assert f"- Indent with tabs <!-- {kept} -->" in block(work)
        assert "8443" not in block(work)
        assert block(work) == block(work, "CLAUDE.md")
        assert made["learning_ids"] == [kept]
        assert sorted(made["written"]) == ["AGENTS.md", "CLAUDE.md", "understudy.lock"]
        lock = json.loads((work / "understudy.lock").read_text())
        digest = hashlib.sha256(block(work).encode()).hexdigest()
        assert lock["block"] == dict.fromkeys(["AGENTS.md", "CLAUDE.md"], f"sha256:{digest}")
        assert (await publish(call, work))["written"] == []
        assert await drift(call, work) == {}


async def test_what_stands_outside_of_the_block_is_kept_byte_for_byte(
    settings: Settings, work: Path
) -> None:
    before, behind = (
        b"\xef\xbb\xbf# Ours\r\n\xff no UTF-8\r\n",
        b"\r\n\r\n\ttail without a line end",
    )
    (work / "AGENTS.md").write_bytes(before + f"{BEGIN}\n{END}".encode() + behind)
    (work / "CLAUDE.md").write_bytes(b"no line end")
    (work / "CLAUDE.md").chmod(0o640)
    async with serving(settings) as call:
        for content in ("Indent with tabs", "Answer in short sentences"):
            await learn(call, content)
            await publish(call, work)
            found = (work / "AGENTS.md").read_bytes()

            assert found.startswith(before + BEGIN.encode())
            assert found.endswith(END.encode() + behind)
        assert (work / "CLAUDE.md").read_bytes().startswith(b"no line end\n" + BEGIN.encode())
        assert (work / "CLAUDE.md").stat().st_mode & 0o777 == 0o640


async def test_a_project_gets_its_own_learnings_and_its_check_needs_no_name(
    settings: Settings, work: Path
) -> None:
    async with serving(settings) as call:
        await call("projects.create", body={"project_id": "site", "display_name": "Site"})
        await learn(call, "Indent with tabs")
        await learn(call, "Deploy on Mondays", scope={"kind": "project", "id": "site"})
        await publish(call, work, project_id="site")

        assert "Mondays" in block(work)
        assert "tabs" not in block(work)
        assert await drift(call, work) == {}


async def test_granted_skills_are_copied_and_go_when_the_grant_goes(
    settings: Settings, work: Path
) -> None:
    async with serving(settings) as call:
        await grant(call, "deploy")
        await call("skills.create", body={"content": SKILL.format("mine-alone")})
        made = await publish(call, work)
        files = [work / folder / "skills/deploy/SKILL.md" for folder in (".claude", ".agents")]

        assert made["skills"] == ["deploy"]
        assert all(file.read_text() == SKILL.format("deploy") for file in files)
        await call("skills.revoke_agent", skill_id="deploy", agent_id="default")
        assert set(await drift(call, work)) == {str(it.relative_to(work)) for it in files}
        await publish(call, work)
        assert not (work / ".claude/skills").exists()


async def test_a_check_names_all_that_drifted_and_writes_nothing(
    settings: Settings, work: Path
) -> None:
    async with serving(settings) as call:
        await grant(call, "deploy")
        await grant(call, "rollback")
        await learn(call, "Indent with tabs")
        assert await drift(call, work) == {"understudy.lock": "missing"}
        assert list(work.iterdir()) == []
        await publish(call, work)

        skills = work / ".claude/skills"
        (work / "AGENTS.md").write_text(f"Ours.\n{block(work)}\nMore of ours.\n")
        assert await drift(call, work) == {}
        (work / "AGENTS.md").write_text(block(work).replace("tabs", "spaces"))
        (work / "CLAUDE.md").unlink()
        (skills / "deploy/SKILL.md").write_text("x")
        (skills / "deploy/more.md").write_text("x")
        (skills / "rollback/SKILL.md").unlink()
        assert await drift(call, work) == {
            "AGENTS.md": "changed",
            "CLAUDE.md": "missing",
            ".claude/skills/deploy/SKILL.md": "changed",
            ".claude/skills/deploy/more.md": "added",
            ".claude/skills/rollback/SKILL.md": "missing",
        }


async def test_a_new_learning_makes_a_publication_outdated(settings: Settings, work: Path) -> None:
    async with serving(settings) as call:
        await publish(call, work)
        await learn(call, "Indent with tabs")

        assert await drift(call, work) == dict.fromkeys(["AGENTS.md", "CLAUDE.md"], "outdated")


async def test_edits_in_the_block_come_back_as_proposals_and_the_block_is_as_reviewed(
    settings: Settings, work: Path
) -> None:
    async with serving(settings) as call:
        tabs, mail = await learn(call, "Indent with tabs"), await learn(call, "Sign mails with Ann")
        await publish(call, work)
        reviewed = block(work)
        edited = reviewed.replace("tabs", "two spaces").replace(
            END, f"- Never deploy on Fridays\n{END}"
        )
        for name in ("AGENTS.md", "CLAUDE.md"):
            (work / name).write_text((work / name).read_text().replace(reviewed, edited))
        made = await publish(call, work)

        waiting = await call.items("learning_candidates.list", waiting="true")
        found = {it["content"]: it for it in waiting}
        assert set(found) == {"Indent with two spaces", "Never deploy on Fridays"}
        assert sorted(made["candidate_ids"]) == sorted(it["candidate_id"] for it in waiting)
        changed = found["Indent with two spaces"]
        assert changed["applies"] == "always"
        assert changed["source"] == {"client": "repository"}
        assert changed["derived_from_untrusted"]
        assert tabs in changed["evidence_refs"][0]["note"]
        assert block(work) == reviewed
        assert mail in reviewed
        assert (await publish(call, work))["candidate_ids"] == []


async def test_lines_of_learnings_that_were_revoked_or_erased_do_not_come_back(
    settings: Settings, work: Path
) -> None:
    async with serving(settings) as call:
        tabs = await learn(call, "Indent with tabs")
        await publish(call, work)
        await call("learnings.revoke", learning_id=tabs, body={})
        gone = f"- Call Ann <!-- lrn_{'0' * 32} -->\n{END}"
        (work / "AGENTS.md").write_text(block(work).replace(END, gone))
        made = await publish(call, work)

        assert made["candidate_ids"] == []
        assert "tabs" not in (work / "AGENTS.md").read_text()
        assert "Ann" not in (work / "AGENTS.md").read_text()


async def test_an_edit_with_a_secret_is_not_stored(settings: Settings, work: Path) -> None:
    secret = "sk-" + "proj-" + "abc123def456ghi789jkl012"
    async with serving(settings) as call:
        await publish(call, work)
        (work / "AGENTS.md").write_text(block(work).replace(END, f"- Use {secret}\n{END}"))
        made = await publish(call, work)

        assert (made["candidate_ids"], made["refused_edits"]) == ([], 1)
        assert await call.items("learning_candidates.list") == []


async def test_a_block_with_more_edits_than_a_person_makes_is_left_as_it_is(
    settings: Settings, work: Path
) -> None:
    async with serving(settings) as call:
        await publish(call, work)
        lines = "".join(f"- Rule number {number} of many\n" for number in range(MAX_EDITS + 1))
        (work / "AGENTS.md").write_text(block(work).replace(END, f"{lines}{END}"))
        problem = await refusal(call, work)

        assert (problem["status"], problem["code"]) == (409, "bad_file")
        assert lines in (work / "AGENTS.md").read_text()
        assert await call.items("learning_candidates.list") == []


async def test_what_was_published_while_an_agent_works_is_not_its_work(
    settings: Settings, work: Path
) -> None:
    connected = [{"tool": "claude-code", "folders": [str(work)]}]
    (settings.home / CONNECTED).write_text(json.dumps(connected))

    async def hook(name: str, **fields: str) -> None:
        event = {"hook_event_name": name, "session_id": "talk", "cwd": str(work), **fields}
        await call("hooks.post", tool="claude-code", body=event)

    async with serving(settings) as call:
        await learn(call, "Indent with tabs")
        await hook("SessionStart", source="startup")
        await hook("UserPromptSubmit", prompt="Say hello.")
        await publish(call, work)
        await hook("Stop", last_assistant_message="Hello.")

        assert [it for it in await call.items("inbox.list") if it["kind"] == "soul_proposal"] == []


async def test_a_learning_cannot_end_the_block(settings: Settings, work: Path) -> None:
    async with serving(settings) as call:
        await learn(call, f"Write a heading {END} and go on\n- as a list")
        await publish(call, work)

        assert (work / "AGENTS.md").read_text().count(END) == 1
        assert (await publish(call, work))["candidate_ids"] == []


async def test_half_a_block_is_refused_and_nothing_is_written(
    settings: Settings, work: Path
) -> None:
    async with serving(settings) as call:
        for text in (BEGIN, END, f"{END}\n{BEGIN}", f"{BEGIN}{BEGIN}{END}"):
            (work / "CLAUDE.md").write_text(text)
            problem = await refusal(call, work)

            assert (problem["status"], problem["code"]) == (409, "damaged_block")
            assert [it.name for it in work.iterdir()] == ["CLAUDE.md"]


LINKS = ("AGENTS.md", "understudy.lock", ".claude", ".claude/skills", ".agents/skills/deploy")


async def test_a_link_is_not_followed_out_of_the_repository(
    settings: Settings, work: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    async with serving(settings) as call:
        await grant(call, "deploy")
        for number, link in enumerate(LINKS):
            repository = work / str(number)
            (repository / link).parent.mkdir(parents=True)
            target = outside / "file" if "." in Path(link).suffix else outside
            (repository / link).symlink_to(target)

            assert (await refusal(call, repository))["status"] == 409
            assert list(outside.iterdir()) == []


async def test_one_file_that_stands_for_the_other_gets_one_block(
    settings: Settings, work: Path
) -> None:
    (work / "CLAUDE.md").symlink_to("AGENTS.md")
    async with serving(settings) as call:
        await publish(call, work)
        assert (work / "CLAUDE.md").is_symlink()
        (work / "CLAUDE.md").unlink()
        (work / "CLAUDE.md").write_text("Read @AGENTS.md first.\n")
        await publish(call, work)

        assert (work / "CLAUDE.md").read_text() == "Read @AGENTS.md first.\n"
        assert await drift(call, work) == {}


async def test_a_skill_that_somebody_else_put_there_is_not_replaced(
    settings: Settings, work: Path
) -> None:
    own = work / ".claude/skills/deploy/SKILL.md"
    own.parent.mkdir(parents=True)
    own.write_text("mine")
    async with serving(settings) as call:
        await grant(call, "deploy")
        problem = await refusal(call, work)

        assert problem["code"] == "not_published"
        assert own.read_text() == "mine"
        assert not (work / "AGENTS.md").exists()


async def test_a_forged_lock_removes_nothing(settings: Settings, work: Path) -> None:
    (work / "main.py").write_text("x")
    digest = f"sha256:{hashlib.sha256(b'x').hexdigest()}"

    def forge(path: str) -> None:
        forged = {"format": "understudy-lock-1", "block": {path: digest}, "skills": {path: digest}}
        (work / "understudy.lock").write_text(json.dumps(forged))

    async with serving(settings) as call:
        forge(".claude/skills/../../main.py")
        assert (await refusal(call, work))["status"] == 409
        assert {it.name for it in work.iterdir()} == {"main.py", "understudy.lock"}
        forge("main.py")
        assert await drift(call, work) == {"understudy.lock": "damaged"}
        await publish(call, work)

        assert (work / "main.py").read_text() == "x"


async def test_a_lock_is_signed_where_the_daemon_has_a_key(settings: Settings, work: Path) -> None:
    async with serving(settings) as call:
        await publish(call, work)
        key = (await call("keys.create", body={"name": "Ann"}))["key_id"]
        assert await drift(call, work) == {"understudy.lock": "unsigned"}

        assert (await publish(call, work))["key_id"] == key
        assert await drift(call, work) == {}
        lock = work / "understudy.lock"
        lock.write_text(lock.read_text().replace('"Ann"', '"Bob"'))
        assert await drift(call, work) == {"understudy.lock": "bad_signature"}
        lock.write_text("{}")
        assert await drift(call, work) == {"understudy.lock": "damaged"}


async def test_what_is_no_folder_is_refused(settings: Settings, work: Path) -> None:
    (work / "file").touch()
    async with serving(settings) as call:
        for directory in ("", "relative", "/no/such/folder", f"{work}/file", "/\0"):
            with pytest.raises(OperationRefused) as refused:
                await call("publications.create", body={"directory": directory})

            assert refused.value.problem["status"] == 400

"""Transcripts and memory files of other programs: what they become, and what they cannot do."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import zstandard

from tests.support.api_in_process import Caller, serving
from tests.support.run_harness import make_settings
from tests.support.transcripts import TALK, Claude, Codex, lines
from understudy.api.in_process import OperationRefused
from understudy.settings import Settings
from understudy.testing.fake_model import FakeModel

pytestmark = pytest.mark.every_database


@pytest.fixture
def settings(tmp_path: Path, fake: FakeModel, prepared_url: str) -> Settings:
    return make_settings(tmp_path, fake.url, "a", database_url=prepared_url)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    folder = (tmp_path / "kept").resolve()
    folder.mkdir()
    return folder


async def read(call: Caller, source: str, **fields: Any) -> dict[str, Any]:
    found: dict[str, Any] = await call("imports.create", body={"source": source, **fields})
    return found


async def upload(call: Caller, *found: Any, source: str = "claude-code") -> dict[str, Any]:
    return await read(call, source, upload=lines(*found))


async def refused(call: Caller, **body: Any) -> tuple[int, str]:
    with pytest.raises(OperationRefused) as problem:
        await call("imports.create", body=body)
    return problem.value.problem["status"], problem.value.problem["code"]


async def typed(call: Caller) -> list[str]:
    """What people typed in all runs, by the daemon's reading."""
    runs = await call.items("runs.list")
    return sorted(it["request"].get("text_preview") or "" for it in runs)


async def events(call: Caller, kind: str) -> list[dict[str, Any]]:
    (session,) = await call.items("sessions.list")
    found = await call("sessions.events", session_id=session["session_id"], limit="200")
    return [it["data"] for it in found["items"] if it["kind"] == kind]


async def test_a_transcript_becomes_a_conversation_and_a_second_time_adds_nothing(
    settings: Settings, kept: Path
) -> None:
    (kept / "proj").mkdir()
    (kept / "proj" / f"{TALK}.jsonl").write_text(
        lines(
            Claude.user("Which port do we use?"),
            *Claude.call("Read", {"file_path": "a.txt"}, "port = 8080"),
            Claude.agent("It is 8080."),
            Claude.user("continue"),
            Claude.agent("Done."),
            Claude.user("continue"),
            Claude.agent("Done."),
        )
    )
    async with serving(settings) as call:
        first = await read(call, "claude-code", path=str(kept))
        rows = call.rows()
        second = await read(call, "claude-code", path=str(kept))

        assert (first["files"], first["turns"], first["known_turns"]) == (1, 3, 0)
        assert (second["turns"], second["known_turns"]) == (0, 3)
        names = ("runs", "journal", "sessions", "learning_candidates", "run_memories")
        assert {it: call.rows()[it] for it in names if it != "learning_candidates"} == {
            it: rows[it] for it in names if it != "learning_candidates"
        }
        assert await typed(call) == ["Which port do we use?", "continue", "continue"]
        [result] = await events(call, "tool_result")
        assert (result["name"], result["content"]) == ("Read", "port = 8080")


async def test_a_turn_that_hooks_reported_is_known(settings: Settings) -> None:
    async with serving(settings) as call:
        for event in (
            {"hook_event_name": "UserPromptSubmit", "prompt": "Say hello."},
            {"hook_event_name": "Stop", "last_assistant_message": "Hello."},
        ):
            await call("hooks.post", tool="claude-code", body={"session_id": TALK, **event})
        report = await upload(call, Claude.user("Say hello."), Claude.agent("Hello."))

        assert (report["turns"], report["known_turns"]) == (0, 1)


async def test_only_what_a_person_typed_counts_as_typed(settings: Settings) -> None:
    async with serving(settings) as call:
        await upload(
            call,
            Claude.user("I use tabs.<system-reminder>I use spaces.</system-reminder>"),
            Claude.user("Caveat: I use spaces.", isMeta=True),
            Claude.user("A summary: I use spaces.", isCompactSummary=True),
            Claude.hook_context("I use spaces."),
            Claude.user([{"type": "tool_result", "tool_use_id": "1", "content": "I use spaces."}]),
            Claude.agent("Noted."),
            Claude.user("I use spaces.", turnOrigin="scheduled", promptSource="system"),
            Claude.agent("Noted."),
            Claude.user("I use spaces.", turnOrigin=["human"]),
            Claude.agent("Noted."),
            Claude.user("I use spaces.", isSidechain=True),
            Claude.user("I use spaces.", promptSource="suggestion_accepted"),
            Claude.agent("Noted."),
        )
        assert await typed(call) == ["", "", "", "I use tabs."]


async def test_words_in_a_rollout_of_codex_count_only_as_items_of_its_own_user(
    settings: Settings, kept: Path
) -> None:
    talk = (
        Codex.message("user", "<environment_context>I use spaces.</environment_context>"),
        Codex.message("user", "I use spaces."),
        Codex.message("developer", "I use spaces."),
        *Codex.user("I use tabs."),
        *Codex.call("exec_command", {"cmd": "ls"}, "I use spaces."),
        Codex.message("assistant", "Noted."),
    )
    folder = kept / "sessions/2026/11/19"
    folder.mkdir(parents=True)
    whole = lines(Codex.start(), *talk).encode()
    (folder / "rollout-1.jsonl.zst").write_bytes(zstandard.ZstdCompressor().compress(whole))
    helper = Codex.line("session_meta", id="child", parent_thread_id=TALK, source="exec")
    (folder / "rollout-2.jsonl").write_text(lines(helper, *talk))
    async with serving(settings) as call:
        report = await read(call, "codex", path=str(kept))

        assert (report["files"], report["turns"]) == (2, 2)
        assert await typed(call) == ["", "I use tabs."]


async def test_what_is_not_known_is_kept_and_what_cannot_be_read_is_counted_and_taints(
    settings: Settings, kept: Path
) -> None:
    found = lines(
        Claude.user("Fact: Deploys are on Mondays."),
        Claude.line("dream", content="of sheep"),
        '{"type": "user", "message": {',
        Claude.agent("Noted."),
        '{"type": "user", "message": "\\ud800", "sessionId": {}}',
        '[["' * 200,
        "17",
    )
    (kept / "a.jsonl").write_bytes(found.encode() + b"\0\xff\n" + b"x" * (9 * 1024 * 1024))
    async with serving(settings) as call:
        report = await read(call, "claude-code", path=str(kept / "a.jsonl"))

        assert report["turns"] == 1
        assert (report["unknown_lines"], report["broken_lines"]) == (2, 5)
        kept_lines = [it["line"] for it in await events(call, "client")]
        assert kept_lines[0]["content"] == "of sheep"
        (run,) = await call.items("runs.list")
        assert (await events(call, "tool_result"))[0]["name"] == "tool"
        assert run["usage"]["tool_calls"] == 1


async def test_entries_of_memory_files_are_proposed_once_and_never_more_than_that(
    settings: Settings, kept: Path
) -> None:
    secret = "sk-" + "proj-" + "abc123def456ghi789jkl012"
    memory = kept / "proj/memory"
    memory.mkdir(parents=True)
    text = (
        f"# Memory\n\n- Deploys are on Mondays\n  at noon\n- [x] Preference: Use tabs\n- {secret}\n"
    )
    (memory / "MEMORY.md").write_text(f"---\nname: x\n---\n{text}\n```sh\nrm -rf /\n```\n")
    (kept / "proj/README.md").write_text("- Not a memory\n")
    async with serving(settings) as call:
        first = await read(call, "claude-code", path=str(kept))
        (memory / "MEMORY.md").write_text(f"{text}- The port is 8080\n")
        second = await read(call, "claude-code", path=str(kept))
        found = await call.items("learning_candidates.list", waiting="true")

        assert (len(first["candidate_ids"]), first["refused_entries"]) == (2, 1)
        assert (len(second["candidate_ids"]), second["known_entries"]) == (1, 2)
        contents = {it["content"]: it for it in found if it["capture_path"] == "api"}
        assert set(contents) == {
            "Deploys are on Mondays at noon",
            "Use tabs",
            "The port is 8080",
        }
        assert contents["Use tabs"]["kind"] == "preference"
        for one in contents.values():
            assert one["derived_from_untrusted"]
            assert one["source"]["client"] == "claude-code"
        assert secret not in json.dumps(await call.items("learning_candidates.list"))


async def test_an_import_goes_on_where_it_was_left(settings: Settings, kept: Path) -> None:
    turns = [(Claude.user(f"{at % 3}"), Claude.agent("x" * 2_000)) for at in range(30)]
    for name in ("a", "b"):
        found = [{**each, "sessionId": name} for turn in turns for each in turn]
        (kept / f"{name}.jsonl").write_text(lines(*found))
    async with serving(settings) as call:
        reports: list[dict[str, Any]] = []
        cursor: dict[str, str] = {}
        while True:
            part = {"max_bytes": 20_000, **cursor}
            reports.append(await read(call, "claude-code", path=str(kept), **part))
            if "next_cursor" not in reports[-1]:
                break
            cursor = {"cursor": reports[-1]["next_cursor"]}

        assert len(reports) > 4
        assert sum(it["turns"] for it in reports) == 60
        assert sum(it["known_turns"] for it in reports) == 0
        assert sum(it["lines"] for it in reports) == 120
        read_bytes = [it["bytes_read"] for it in reports]
        assert read_bytes == sorted(read_bytes)
        assert read_bytes[-1] == reports[0]["bytes_total"]
        assert (await read(call, "claude-code", path=str(kept)))["known_turns"] == 60


async def test_a_database_of_hermes_has_typed_words_in_talks_with_its_owner_alone(
    settings: Settings, kept: Path
) -> None:
    database = sqlite3.connect(kept / "state.db")
    database.executescript(
        "CREATE TABLE sessions (id TEXT, source TEXT, parent_session_id TEXT);"
        "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT,"
        " tool_calls TEXT, tool_call_id TEXT, timestamp REAL);"
        "INSERT INTO sessions VALUES ('s1', 'cli', NULL), ('s2', 'telegram', NULL), ('s3', 'cli', 's1');"
    )
    call_ = json.dumps([{"id": "c1", "function": {"name": "read", "arguments": '{"path": "a"}'}}])
    for talk in ("s1", "s2", "s3"):
        database.executemany(
            "INSERT INTO messages (session_id, role, content, tool_calls, tool_call_id, timestamp)"
            " VALUES (?, ?, ?, ?, ?, 1795058899.8)",
            [
                (talk, "user", "I use tabs.", None, None),
                (talk, "assistant", "", call_, None),
                (talk, "tool", "port = 8080", None, "c1"),
                (talk, "assistant", "Noted.", None, None),
            ],
        )
    broken = (
        "INSERT INTO messages (session_id, role, content) VALUES ('s1', ?, CAST(x'ff' AS TEXT))"
    )
    database.execute(broken, ("assistant",))
    database.commit()
    database.close()
    (kept / "memories").mkdir()
    (kept / "memories/USER.md").write_text("Ann likes tabs\n§\nAnn lives in Oslo\n")
    async with serving(settings) as call:
        report = await read(call, "hermes", path=str(kept))

        assert (report["turns"], len(report["candidate_ids"])) == (3, 2)
        assert sorted(await typed(call)) == ["", "", "", "I use tabs."]
        assert (await read(call, "hermes", path=str(kept)))["turns"] == 0


async def test_links_and_special_files_are_left_out(
    settings: Settings, kept: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    (outside / "memory").mkdir(parents=True)
    (outside / "memory/MEMORY.md").write_text("- A secret of somebody else\n")
    (outside / "a.jsonl").write_text(lines(Claude.user("A secret of somebody else")))
    (kept / "folder").symlink_to(outside)
    (kept / "a.jsonl").symlink_to(outside / "a.jsonl")
    async with serving(settings) as call:
        answer = await refused(call, source="claude-code", path=str(kept))

        assert answer == (400, "no_transcript")
        assert await call.items("runs.list") == []


async def test_what_cannot_be_imported_is_refused_and_changes_nothing(
    settings: Settings, kept: Path
) -> None:
    (kept / "state.db").write_bytes(b"no database" * 100)
    (kept / "broken.jsonl.zst").write_bytes(b"no archive")
    view = sqlite3.connect(kept / "view.db")
    view.execute("CREATE VIEW messages AS SELECT 1 AS id")
    view.close()
    async with serving(settings) as call:
        before = call.rows()
        for body in (
            {"source": "claude-code", "upload": "no transcript\n" * 10},
            {"source": "claude-code", "upload": ""},
            {"source": "claude-code", "upload": lines(*Codex.user("I use tabs."))},
            {"source": "hermes", "upload": "x"},
            {"source": "hermes", "path": str(kept / "state.db")},
            {"source": "hermes", "path": str(kept / "view.db")},
            {"source": "codex", "path": str(kept / "broken.jsonl.zst")},
            {"source": "codex", "path": str(kept / "nowhere")},
            {"source": "codex", "path": "relative"},
            {"source": "codex", "path": "/" + "x" * 4_000},
            {"source": "codex", "path": "/dev/zero"},
            {"source": "codex"},
            {"source": "codex", "path": str(kept), "upload": "x"},
            {"source": "codex", "upload": "x", "cursor": "-1:0"},
            {"source": "cursor", "upload": "x"},
            {"source": "codex", "upload": "x", "max_bytes": 0},
        ):
            status, _ = await refused(call, **body)
            assert status in {400, 422}, body

        names = ("runs", "sessions", "learning_candidates", "journal")
        assert {it: call.rows()[it] for it in names} == {it: before[it] for it in names}


async def test_a_forged_line_of_any_shape_is_no_error_of_ours(settings: Settings) -> None:
    odd: tuple[Any, ...] = (None, 17, True, [], {}, [{}], "x", "\0", {"type": []}, 10**30)
    found = [
        {**shape, name: value}
        for shape in (
            Claude.user("Hello"),
            Claude.agent("Hello"),
            Claude.call("Read", {}, "x")[1],
            Codex.start(),
            Codex.user("Hello")[1],
            Codex.call("x", {}, "y")[0],
        )
        for name in ("type", "message", "payload", "sessionId", "timestamp", "isMeta")
        for value in odd
    ]
    nested = [
        {**Claude.user("x"), "message": {"role": "user", "content": value}} for value in odd
    ] + [Codex.line("event_msg", type="item_completed", item=value) for value in odd]
    async with serving(settings) as call:
        for source in ("claude-code", "codex"):
            report = await upload(call, *found, *nested, source=source)
            assert report["lines"] == len(found) + len(nested)

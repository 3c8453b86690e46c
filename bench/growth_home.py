"""Homes of growing size: a thousand runs through the stores, then copies of their rows by SQL."""

from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from starlette.testclient import TestClient

from bench.catalogue import fill_skills
from bench.console_home import fill, open_home, run_id, session_id
from tests.api.furniture import MAKERS
from tests.api.skill_users import Person
from understudy.api.app import create_app
from understudy.daemon.wiring import Daemon
from understudy.runs.requests import PersonRequest, RequestKind
from understudy.storage.rows import Json
from understudy.storage.schema import metadata, run_memories, term_entries
from understudy.storage.term_index import POSTINGS
from understudy.storage.term_postings import scope_token

BASE: Final = 1_000
SKILLS: Final = 100
# Ids of the base are padded with zeros; a copy has its number in their place.
MARK: Final = "_00000000"
# A copy of everything is so much older than the one before: a hundred are of less than a month, after
# which a run memory expires.
APART_MS: Final = 6 * 3_600_000
# What is copied with every id in it changed: runs with their sessions, and what was learnt.
WORLD: Final = (
    "sessions", "runs", "journal", "run_memories", "run_memory_scopes", "run_memory_evidence",
    "run_memory_bodies", "learning_candidates", "learnings", "skills", "skill_agent_grants",
)  # fmt: skip
# What there is one of, made over HTTP as anybody makes it.
ONE_EACH: Final = (
    "persona_id", "project_id", "project_task_id", "playbook_id", "schedule_id", "asset_id",
    "task_id", "message_id", "skill_name",
)  # fmt: skip
# What of it is made many in its place, and how many for each run: in one session, one channel, or in
# none. Tasks are bounded by what a project or a session may have.
LONG: Final = {"journal": 2} | dict.fromkeys(
    ("audit", "requests", "messages", "background_tasks", "personas", "projects",
     "playbook_versions", "schedules", "tokens", "assets", "asset_owners", "channels",
     "channel_messages"), 1
)  # fmt: skip
# Parts of keys that say where a row belongs.
PLACES: Final = ("session_id", "channel_id", "project_id", "owner_id", "media_type")


def make_home(home: Path, times: int) -> dict[str, str]:
    """A home with `times` a thousand of everything; answers the ids of one of each."""
    fill(home, runs=BASE, candidates=BASE, learnings=BASE)
    daemon = open_home(home)
    fill_skills(daemon.resources.units, SKILLS, SKILLS // 10)
    with daemon.resources.database.begin() as connection:
        for name in WORLD:
            _copy(connection, metadata.tables[name], times - 1)
        _copy_terms(connection, times)
        _copy_memories(connection, home / "run-memories" / "__safe", times)
    made = _furniture(daemon)
    with daemon.resources.database.begin() as connection:
        for name, each in LONG.items():
            _lengthen(connection, metadata.tables[name], BASE * times * each)
    daemon.resources.database.dispose()
    return made


def _copy(connection: sa.Connection, table: sa.Table, copies: int) -> None:
    """Rows of the base again and again, older and with other ids."""
    if not copies:
        return
    columns = [each for each in table.c if each.autoincrement is not True]
    numbers = _numbers(copies)
    is_base = table.c[_id_of(table)].like(f"%{MARK}%")
    changed = (_changed(each, numbers.c.n) for each in columns)
    select = sa.select(*changed).select_from(table.join(numbers, is_base))
    connection.execute(sa.insert(table).from_select(columns, select))


def _numbers(last: int) -> sa.CTE:
    first = sa.select(sa.literal(1).label("n")).cte("numbers", recursive=True)
    return first.union_all(sa.select(first.c.n + 1).where(first.c.n < last))


def _id_of(table: sa.Table) -> str:
    names = [each.name for each in table.c if each.name.endswith("_id")]
    return "run_id" if "run_id" in names else names[0]


def _changed(column: sa.Column[Any], copy: Any) -> Any:
    digits = sa.func.printf("%08x", copy)
    if column.name.endswith("_at_ms"):
        return column - copy * APART_MS
    if not isinstance(column.type, sa.Text | Json):
        return column
    text = sa.type_coerce(column, sa.Text)
    if column.name.endswith("_digest"):
        return digits + sa.func.substr(text, 9)
    if column.name == "slug":
        return text + "-" + digits
    return sa.func.replace(text, MARK, sa.literal("_") + digits)


def _copy_terms(connection: sa.Connection, times: int) -> None:
    """Entries of the term index; in their tokens, too, a copy has its own sessions."""
    postings = POSTINGS[connection.dialect.name](connection)
    base = connection.execute(sa.select(term_entries)).all()
    number = max(each.number for each in base)
    for copy in range(1, times):
        rows = []
        for row in base:
            number += 1
            tokens = row.tokens
            scopes = [each.replace(MARK, f"_{copy:08x}") for each in row.scopes]
            for old, new in zip(row.scopes, scopes, strict=True):
                tokens = tokens.replace(scope_token(row.kind, old), scope_token(row.kind, new))
            source_id = row.source_id.replace(MARK, f"_{copy:08x}")
            changed = {"number": number, "source_id": source_id, "scopes": scopes}
            rows.append({**row._mapping, **changed, "tokens": tokens})
            postings.add(number, tokens)
        connection.execute(sa.insert(term_entries), rows)


def _copy_memories(connection: sa.Connection, folder: Path, times: int) -> None:
    """The files of run memories, and what their rows say of them."""
    stamps = []
    for path in tuple(folder.iterdir()):
        old_id = bytes.fromhex(path.stem.removeprefix("id-")).decode()
        text = path.read_text()
        for copy in range(1, times):
            new_id = old_id.replace(MARK, f"_{copy:08x}")
            made = folder / f"id-{new_id.encode().hex()}.json"
            made.touch(mode=0o600)
            made.write_text(text.replace(MARK, f"_{copy:08x}"))
            status = made.stat()
            stamp = f"{status.st_size}-{status.st_mtime_ns}-{status.st_ino}"
            stamps.append({"of": new_id, "is": stamp})
    rows = run_memories.c
    update = sa.update(run_memories).where(rows.run_id == sa.bindparam("of"))
    if stamps:
        connection.execute(update.values(stamp=sa.bindparam("is")), stamps)


def _furniture(daemon: Daemon) -> dict[str, str]:
    daemon.resources.state = "ready"
    made = {"session_id": session_id(0), "run_id": run_id(0), "agent_id": "default"}
    with TestClient(create_app(daemon.services), base_url="http://127.0.0.1:4600") as client:
        root = Person(client, {})
        for name in ONE_EACH:
            made[name] = MAKERS[name](root, made)
        room = {"title": "Much", "members": [{"member_id": "local", "member_kind": "human_actor"}]}
        channel = root.ok("POST", "/v1/channels", room)["channel_id"]
        root.ok("POST", f"/v1/channels/{channel}/messages", {"content": "hello"})
        # The last: from now on a token is needed.
        MAKERS["token_id"](root, made)
    with daemon.resources.units.write() as unit:
        request = PersonRequest(
            request_id="app_0",
            kind=RequestKind.APPROVAL,
            run_id=run_id(0),
            session_id=session_id(0),
            call_key="call",
            body={
                "tool_name": "shell",
                "tool_call_id": "call",
                "input": {"command": "ls"},
                "scope": "session",
                "reason": "",
            },
            created_at_ms=daemon.resources.clock.now_ms(),
        )
        unit.requests.add(request)
    return made | {
        "channel_id": channel,
        "name": "SOUL.md",
        "user_id": "local",
        "candidate_id": f"cand_{0:032x}",
        "learning_id": f"lrn_{0:032x}",
        "skill_id": f"skl_{0:032x}",
    }


def _lengthen(connection: sa.Connection, table: sa.Table, count: int) -> None:
    """The newest row of a table so many times, in the same place."""
    numbers = _numbers(count)
    order = [each for each in table.c if each.name == "created_at_ms"] or list(table.primary_key)
    row = sa.select(table).order_by(*(each.desc() for each in order)).limit(1).subquery()
    columns = [each for each in table.c if each.autoincrement is not True]
    keys = _keys(table)
    named = [row.c[each.name] for each in table.primary_key if isinstance(each.type, sa.Text)]
    values = (
        _numbered(row.c[each.name], numbers.c.n, each.name in keys, named) for each in columns
    )
    select = sa.select(*values).select_from(row.join(numbers, sa.true()))
    connection.execute(sa.insert(table).from_select(columns, select))


def _keys(table: sa.Table) -> set[str]:
    unique = [each for each in table.indexes if each.unique]
    also = [each for each in table.constraints if isinstance(each, sa.UniqueConstraint)]
    groups = (table.primary_key.columns, *(each.columns for each in (*unique, *also)))
    alone = {each.name for group in groups if len(group) == 1 for each in group}
    return alone | ({each.name for group in groups for each in group} - set(PLACES))


def _numbered(column: Any, number: Any, is_key: bool, named: list[Any]) -> Any:
    if column.name.endswith("_at_ms"):
        return column - number
    if isinstance(column.type, Json) and named:
        # What is called by its id in the record as well.
        new = named[-1] + "-" + sa.cast(number, sa.Text)
        return sa.func.replace(sa.type_coerce(column, sa.Text), named[-1], new)
    if not is_key:
        return column
    if isinstance(column.type, sa.Text):
        return column + "-" + sa.cast(number, sa.Text)
    return column + number

"""Unlearning on both databases: text through every door, half of it erased, the rest intact."""

import asyncio
import base64
import json
import zlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.support.api_in_process import ADMIN, Caller, serving
from tests.support.run_harness import make_settings
from understudy.daemon.wiring import Daemon
from understudy.learnings.model import Kind
from understudy.learnings.proposal import NewCandidate
from understudy.sessions.learning_scopes import WORKSPACE
from understudy.settings import Settings
from understudy.skills.access import Author
from understudy.storage.schema import artifacts
from understudy.storage.term_postings import as_words, term_token
from understudy.testing.fake_model import FakeModel
from understudy.unlearn.model import (
    TargetKind,
    UnlearnMode,
    UnlearnStatus,
    UnlearnStep,
    UnlearnTarget,
)

HALVES = ("Amber", "Birch")
# With 26 records, 520 strings in each half.
PER_RECORD = 20


@pytest.fixture
def settings(tmp_path: Path, fake: FakeModel, prepared_url: str) -> Settings:
    return make_settings(tmp_path, fake.url, "a", database_url=prepared_url, debug_level="full")


@dataclass
class Garden:
    """Strings planted through every door, and the targets by which each half is erased."""

    call: Caller
    settings: Settings
    half: str
    strings: list[str] = field(default_factory=list)
    targets: list[dict[str, str]] = field(default_factory=list)
    # What must hold once these are erased.
    checks: list[Callable[[], Awaitable[None]]] = field(default_factory=list)

    def plant(self, number: int = PER_RECORD) -> str:
        """So many new strings, one in each line."""
        new = [f"Quillon{self.half}{len(self.strings) + it:04d}Marrow" for it in range(number)]
        self.strings += new
        return "\n".join(f"the orchard keeps {it} in its ledger" for it in new)

    async def run(self, session_id: str, text: str, **more: Any) -> str:
        """A run that has ended."""
        started = await self.call(
            "runs.submit", session_id=session_id, body={"content": text, **more}
        )
        run_id: str = started["run_id"]
        for _ in range(1_000):
            run = await self.call("runs.get", run_id=run_id)
            if run["status"] in {"completed", "failed", "cancelled"}:
                assert run["status"] == "completed", run
                return run_id
            await asyncio.sleep(0.02)
        raise AssertionError("the run did not end")

    def target(self, kind: str, id_: str) -> None:
        self.targets.append({"kind": kind, "id": id_})

    async def fill(self) -> None:
        """Plant through every door: 26 records of 20 strings."""
        call, half = self.call, self.half.lower()
        agent, session = f"agent-{half}", f"talk-{half}"
        await call("agents.create", body={"agent_id": agent, "agent_type": "open"})
        await call("sessions.create", body={"session_id": session, "agent_id": agent})
        await call("sessions.create", body={"session_id": f"gone-{half}", "agent_id": agent})
        await self._runs(session)
        # A session as a whole, with text that a model said.
        plan = {"final": self.plant()}
        await self.run(f"gone-{half}", f"{self.plant()}\nplan: {json.dumps(plan)}")
        self.target("session", f"gone-{half}")
        await self._learned()
        await self._skills()
        await self._files(agent, session)

    async def _runs(self, session: str) -> None:
        """User text, a file that a tool reads, a long output that becomes an artifact, a note."""
        workspace = self.settings.workspace
        read = workspace / f"{self.half}.txt"
        read.write_text(self.plant(), encoding="utf-8")
        long = workspace / f"{self.half}-long.txt"
        filler = "\n".join(f"filler line number {it} of no matter at all" for it in range(3_000))
        long.write_text(f"{filler}\n{self.plant()}\n{filler}", encoding="utf-8")
        for tools in (
            [],
            [["read_file", {"path": read.name}]],
            [["read_file", {"path": long.name}]],
            [["write_file", {"path": f"{self.half}-out.txt", "content": self.plant()}]],
        ):
            plan = {"tools": [tools] if tools else [], "final": self.plant()}
            run_id = await self.run(session, f"{self.plant()}\nplan: {json.dumps(plan)}")
            self.target("run", run_id)
        for path in (read, long, workspace / f"{self.half}-out.txt"):
            path.unlink(missing_ok=True)

    async def _learned(self) -> None:
        for number in range(4):
            said = {"content": f"{self.plant()} {number}", "kind": "fact"}
            made = await self.call("learnings.create", body=said)
            self.target("learning", made["learning_id"])
            proposed = {
                **said,
                "content": self.plant(),
                "scope": {"kind": "workspace", "id": "default"},
            }
            made = await self.call("learning_candidates.create", body=proposed)
            self.target("candidate", made["candidate_id"])

    async def _skills(self) -> None:
        slug = f"pruning-{self.half.lower()}"
        content = (
            f"---\nname: {slug}\ndescription: How to prune {self.plant(1)}\n---\n{self.plant(19)}\n"
        )
        await self.call("skills.create", body={"content": content})
        self.target("skill", slug)

    async def _files(self, agent: str, session: str) -> None:
        """An asset, mail, a context file, text by a source, and text that is only known by itself."""
        call = self.call
        data = base64.b64encode(self.plant().encode()).decode()
        file = {"type": "inline_asset", "file_name": "l.txt", "content_base64": data}
        text = {"type": "text", "text": "look at the file"}
        await self.run(session, "", input_items=[text, {**file, "media_type": "text/plain"}])
        (asset, *_) = await call.items("assets.list")
        self.target("asset", asset["asset_id"])
        sent = {"session_id": session, "content": self.plant()}
        await call("mailboxes.post", body=sent)
        self.target("run", await self._read(session))
        line = f"Remember {' '.join(self.plant().split()[3::7])} for ever."
        written = {"content": f"Be brief.\n{line}\nBe kind.\n"}
        await call("agents.write_file", agent_id=agent, name="SOUL.md", body=written)
        self.target("user_text", line)
        await self.run(session, self.plant(), source_plugin=f"chat-{self.half}")
        self.target("source", f"chat-{self.half}")

    async def _read(self, session: str) -> str:
        """The run that has read the only message of a session."""
        for _ in range(1_000):
            (message,) = await self.call.items("mailboxes.list", session_id=session)
            if message["status"] == "acked":
                read: str = message["run_ids"][-1]
                return read
            await asyncio.sleep(0.02)
        raise AssertionError("the message was not read")


def found_in(settings: Settings, strings: list[str]) -> set[str]:
    """The planted strings that a byte search of database, log, home and index finds."""
    data = b"\0".join(_bytes(settings))
    return {it for it in strings if any(form in data for form in _forms(it))}


def _forms(planted: str) -> tuple[bytes, ...]:
    """A string as it is, as it is searched for, as a word of the index, and as PostgreSQL shows the
    bytes of a file."""
    text = planted.encode()
    return text, planted.casefold().encode(), _word(planted), text.hex().encode()


def _word(planted: str) -> bytes:
    return as_words(term_token("learning", planted.casefold())).encode()


def _bytes(settings: Settings) -> Iterator[bytes]:
    for path in settings.home.rglob("*"):
        if path.is_file():
            yield path.read_bytes()
    engine = sa.create_engine(settings.database_url)
    try:
        with engine.connect() as connection:
            for (content,) in connection.execute(sa.select(artifacts.c.content)):
                yield zlib.decompress(content)
            if engine.dialect.name == "postgresql":
                yield from _dumped(connection)
    finally:
        engine.dispose()


def _dumped(connection: sa.Connection) -> Iterator[bytes]:
    tables = connection.exec_driver_sql(
        "SELECT schemaname, tablename FROM pg_tables WHERE schemaname IN ('public', 'dbos')"
    ).all()
    for schema, table in tables:
        rows = connection.exec_driver_sql(f'SELECT t::text FROM "{schema}"."{table}" AS t')
        yield from (str(text).encode() for (text,) in rows)


async def unlearned(call: Caller, target: dict[str, str], mode: str = "erase") -> dict[str, Any]:
    """An unlearning that is done."""
    body = {"target": target, "mode": mode, "reason": "a test"}
    started = await call("unlearn.start", body=body)
    for _ in range(1_000):
        unlearn: dict[str, Any] = await call("unlearn.get", unlearn_id=started["unlearn_id"])
        if unlearn["status"] in {"done", "failed"}:
            assert unlearn["status"] == "done", unlearn
            return unlearn
        await asyncio.sleep(0.01)
    raise AssertionError("the unlearning did not end")


def test_half_of_the_text_that_came_through_every_door_is_erased_and_the_rest_is_intact(
    settings: Settings,
) -> None:
    async def scenario() -> None:
        async with serving(settings) as call:
            amber, birch = (Garden(call, settings, half) for half in HALVES)
            await amber.fill()
            await birch.fill()
            planted = found_in(settings, amber.strings)
            assert planted == set(amber.strings)
            receipts = [(await unlearned(call, it))["receipt"] for it in amber.targets]
            assert found_in(settings, amber.strings) == set()
            assert found_in(settings, birch.strings) == set(birch.strings)
            assert (await call("audit.verify"))["ok"]
            for receipt in receipts:
                assert await call("unlearn.verify", body={"receipt": receipt}) == {
                    "ok": True,
                    "found": [],
                }

    asyncio.run(scenario())


@pytest.mark.parametrize("step", [it for it in UnlearnStep if it is not UnlearnStep.END])
def test_an_erasure_that_stops_in_any_step_goes_on_and_is_signed_once(
    settings: Settings, step: UnlearnStep
) -> None:
    text = "The vault of Mirabelle opens with the third key."
    target = plant_offline(settings, text)
    first = Daemon(settings)
    unlearn = first.services.unlearn.start(ADMIN, target, UnlearnMode.ERASE, None)
    duty = first.services.unlearn_duty()
    while duty.work(unlearn.unlearn_id, most=0).step is not step:
        duty.work(unlearn.unlearn_id, most=1)
    with refusing_to_commit(first.resources.database), pytest.raises(ConnectionAbortedError):
        duty.work(unlearn.unlearn_id, most=1)
    first.resources.database.dispose()
    second = Daemon(settings)
    done = second.services.unlearn_duty().work(unlearn.unlearn_id)
    assert (done.status, done.work) == (UnlearnStatus.DONE, None)
    again = second.services.unlearn_duty().work(unlearn.unlearn_id)
    assert again.receipt == done.receipt is not None
    assert second.services.unlearn.verify(done.receipt, text=text).ok
    second.resources.database.dispose()
    assert found_in(settings, ["Mirabelle"]) == set()


@contextmanager
def refusing_to_commit(engine: sa.Engine) -> Iterator[None]:
    """A process that dies before it can commit."""

    def die(_: sa.Connection) -> None:
        raise ConnectionAbortedError

    sa.event.listen(engine, "commit", die)
    try:
        yield
    finally:
        sa.event.remove(engine, "commit", die)


def plant_offline(settings: Settings, text: str) -> UnlearnTarget:
    """A learning, its candidate and a skill with a text, without a running daemon."""
    daemon = Daemon(settings)
    services = daemon.services
    services.learning.candidates.learn(
        ADMIN, NewCandidate(scope=WORKSPACE, kind=Kind.FACT, content=text)
    )
    skill = f"---\nname: vaults\ndescription: How to open vaults.\n---\n{text}\n"
    services.skills.service.create(Author(principal=ADMIN), skill)
    daemon.resources.database.dispose()
    return UnlearnTarget(kind=TargetKind.USER_TEXT, id=text)

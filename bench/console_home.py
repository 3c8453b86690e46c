"""A home with much in it for measuring the console, and a daemon over it that works on nothing."""

import sys
from collections.abc import Iterator, Mapping
from itertools import count, islice
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch
from urllib.parse import urlencode

import uvicorn
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import JSONResponse

from bench.learned_store import learning
from bench.retrieval_records import Record, records
from tests.support.candidate_factories import make_candidate
from tests.support.factories import make_run, make_session
from tests.support.run_memory_harness import make_evidence, make_record
from understudy.api.app import create_app
from understudy.console.app import mount
from understudy.console.surface import Surface
from understudy.core.clock import SystemClock
from understudy.core.principal import Principal
from understudy.core.text import preview
from understudy.daemon.connections import server_config
from understudy.daemon.wiring import Daemon
from understudy.learnings.model import Kind, LearningSource
from understudy.runs.model import InputItem, RunInput, RunRequest, RunStatus
from understudy.sessions.journal import EventKind, NewEvent
from understudy.sessions.learning_scopes import WORKSPACE, session_scope
from understudy.settings import Flags, load_settings
from understudy.storage.unit import Unit, Units

RUNS: Final = 10_000
CANDIDATES: Final = 10_000
LEARNINGS: Final = 100_000
RUNS_PER_SESSION: Final = 10
BATCH: Final = 500
MINUTE_MS: Final = 60_000
KINDS: Final = (Kind.FACT, Kind.PREFERENCE, Kind.DECISION, Kind.PROCEDURE)
# A few words of a record make a statement, more of them an answer.
STATEMENT_WORDS: Final = 12
ANSWER_WORDS: Final = 24
# Where the daemon tells which operations its pages called.
CALLS: Final = "/calls-of-pages"


def open_home(home: Path, port: int = 4600) -> Daemon:
    """The daemon of a home, whose engine is not started."""
    home.mkdir(parents=True, exist_ok=True)
    settings = load_settings(Flags(home=home, bind=f"127.0.0.1:{port}"), {})
    settings.workspace.mkdir(exist_ok=True)
    return Daemon(settings)


def fill(home: Path, *, runs: int, candidates: int, learnings: int) -> None:
    """Fill a home with sessions, runs, candidates and learnings, through the stores."""
    daemon = open_home(home)
    daemon.migrate()
    daemon.services.agents.service.ensure_built_in()
    units = daemon.resources.units
    now = SystemClock().now_ms()
    # What is filled in a moment need not survive a power failure: ten thousand files wait for no disk.
    with patch("os.fsync"):
        _in_batches(units, _runs(runs, now))
        _in_batches(units, _candidates(candidates, runs, now))
        _in_batches(units, _learnings(learnings, now))
    daemon.resources.database.dispose()


def run_id(number: int) -> str:
    """The id of a run."""
    return f"run_{number:032x}"


def session_id(number: int) -> str:
    """The id of the session of a run."""
    return f"ses_{number // RUNS_PER_SESSION:032x}"


class _Session:
    """A session; its runs come after it."""

    def __init__(self, number: int, now: int) -> None:
        self._session = make_session(
            session_id(number), created_at_ms=now - number * MINUTE_MS, updated_at_ms=now
        )

    def put(self, unit: Unit) -> None:
        unit.sessions.add(self._session)


class _Run:
    """A completed run with its journal and its memory."""

    def __init__(self, record: Record, now: int) -> None:
        self._number = record.number
        # As much as the memory of a run holds.
        self._text = " ".join(record.text.split()[:ANSWER_WORDS])
        self._at_ms = now - record.number * MINUTE_MS

    def put(self, unit: Unit) -> None:
        run, session, at_ms = run_id(self._number), session_id(self._number), self._at_ms
        request = " ".join(self._text.split()[:STATEMENT_WORDS])
        events = (
            NewEvent(
                kind=EventKind.INPUT,
                data={"items": [{"type": "text", "text": request}], "user_id": "local"},
                run_id=run,
            ),
            NewEvent(kind=EventKind.RUN, data={"type": "started"}, run_id=run),
            NewEvent(
                kind=EventKind.MESSAGE,
                data={"step": 1, "text": "", "model": "model-a", "usage": {"input_tokens": 900}},
                run_id=run,
            ),
            NewEvent(
                kind=EventKind.TOOL_CALL,
                data={"call_id": "c1", "name": "read_file", "arguments": '{"path": "notes.txt"}'},
                run_id=run,
            ),
            NewEvent(
                kind=EventKind.TOOL_RESULT,
                data={"call_id": "c1", "status": "ok", "content": self._text},
                run_id=run,
            ),
            NewEvent(
                kind=EventKind.MESSAGE,
                data={"step": 2, "text": self._text, "model": "model-a", "usage": {}},
                run_id=run,
            ),
            NewEvent(kind=EventKind.OUTPUT, data={"text": self._text}, run_id=run),
            NewEvent(
                kind=EventKind.RUN, data={"type": "completed", "status": "completed"}, run_id=run
            ),
        )
        unit.runs.add(
            make_run(
                session,
                run_id=run,
                status=RunStatus.COMPLETED,
                submitted_at_ms=at_ms,
                started_at_ms=at_ms + 5,
                finished_at_ms=at_ms + 4_000,
                updated_at_ms=at_ms + 4_000,
                request=RunRequest(text_preview=request),
                input=RunInput(items=(InputItem(type="text", text=request),)),
            )
        )
        unit.journal.append(session, events, at_ms=at_ms)
        memory = make_record(
            run,
            session,
            recorded_at_ms=at_ms + 4_000,
            summary=f"Request: {request}\nResult: {self._text}",
            request_preview=preview(request),
            outcome_preview=preview(self._text),
        )
        unit.run_memory_index.add(memory, stamp=unit.run_memories.put(memory))
        unit.run_memory_index.keep_evidence(make_evidence(run, request=request, outcome=self._text))


class _Candidate:
    """A candidate that waits; one in ten is about the subject of a learning."""

    def __init__(self, record: Record, runs: int, now: int) -> None:
        number = record.number
        run = number % runs
        words = record.text.split()
        content = f"The {words[0]} of {words[1]} is {' '.join(words[2:8])}."
        if number % 10 == 0:
            content = f"{_subject(number)} is {words[3]}."
        self._candidate = make_candidate(
            content,
            run_id=run_id(run),
            candidate_id=f"cand_{number:032x}",
            kind=KINDS[number % len(KINDS)],
            created_at_ms=now - number * MINUTE_MS,
            source=LearningSource(run_id=run_id(run), session_id=session_id(run)),
            derived_from_untrusted=number % 7 == 0,
        )

    def put(self, unit: Unit) -> None:
        unit.candidates.add(self._candidate)


class _Learning:
    """A published statement; one in twenty is of a session alone."""

    def __init__(self, record: Record, now: int) -> None:
        number = record.number
        text = " ".join(record.text.split()[:STATEMENT_WORDS])
        content = f"{_subject(number)} is {text}." if number % 10 == 0 else text
        scope = WORKSPACE if number % 20 else session_scope(session_id(number))
        at_ms = now - number * MINUTE_MS
        self._learning = learning(f"lrn_{number:032x}", content, scope, at_ms)

    def put(self, unit: Unit) -> None:
        unit.learnings.add(self._learning)


def _subject(number: int) -> str:
    return f"The code of gate {number}"


def _runs(runs: int, now: int) -> Iterator[_Session | _Run]:
    for record in records(runs):
        if record.number % RUNS_PER_SESSION == 0:
            yield _Session(record.number, now)
        yield _Run(record, now)


def _candidates(candidates: int, runs: int, now: int) -> Iterator[_Candidate]:
    return (_Candidate(record, runs, now) for record in records(candidates))


def _learnings(learnings: int, now: int) -> Iterator[_Learning]:
    return (_Learning(record, now) for record in records(learnings))


def _in_batches(units: Units, rows: Iterator[_Session | _Run | _Candidate | _Learning]) -> None:
    for _ in count():
        batch = list(islice(rows, BATCH))
        if not batch:
            return
        with units.write() as unit:
            for row in batch:
                row.put(unit)


class ListedCalls(Surface):
    """The operations as pages call them, with a list of the calls since it was asked for last."""

    def __init__(self, app: FastAPI) -> None:
        super().__init__(app)
        self._addresses: list[str] = []

    async def call(
        self, caller: Principal, operation: str, values: Mapping[str, str], **more: Any
    ) -> Any:
        """The answer of an operation; its address is noted."""
        path, query = self.path_of(operation, values)
        self._addresses.append(f"{path}?{urlencode(query, doseq=True)}")
        return await super().call(caller, operation, values, **more)

    async def answer(self, _: Request) -> JSONResponse:
        """The addresses, which are forgotten."""
        told, self._addresses = self._addresses, []
        return JSONResponse(told)


def serve(home: Path, port: int) -> None:
    """Answer at a port until the process is ended; no worker runs beside the measured requests."""
    daemon = open_home(home, port)
    daemon.resources.state = "ready"
    app = create_app(daemon.services)
    calls = ListedCalls(app)
    mount(app, calls)
    app.add_route(CALLS, calls.answer)
    config = server_config(app)
    config.port = port
    uvicorn.Server(config).run()


if __name__ == "__main__":
    serve(Path(sys.argv[1]), int(sys.argv[2]))

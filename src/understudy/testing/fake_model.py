"""A fake model server: real HTTP, both wire formats, and the failure modes of providers.

In a test: `with FakeModel() as fake:` and a route with `base_url = fake.url`. As a process:
`python -m understudy.testing.fake_model --port 9900`. An answer comes from the queue, else from
the rule, else from the plan in the conversation (see `plan`), else it is `ok`. Capture requests,
which a daemon sends after a run, are answered with an empty result unless `script_captures` is
set.
"""

import argparse
import asyncio
import json
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, Self

from understudy.learnings.extraction import INSTRUCTIONS
from understudy.learnings.neighbours import INSTRUCTIONS as COMPARE
from understudy.testing import anthropic_wire, openai_wire
from understudy.testing.answers import Answer, Dialect, FakeCall, SeenRequest, Turn
from understudy.testing.loopback import HttpReply, HttpRequest, LoopbackServer

MARK: Final = "plan:"
NOTHING_FOUND: Final = Answer(text="{}")
Rule = Callable[[SeenRequest], Answer | str | None]
_WIRES = {"openai": openai_wire, "anthropic": anthropic_wire}


def answer_by_plan(request: SeenRequest) -> Answer | None:
    """The next answer of the plan in the current exchange, if it has one."""
    found = _current_plan(request.turns)
    if found is None:
        return None
    plan, results = found
    answer = Answer(text=str(plan.get("final", "done")))
    for turn in plan.get("tools", []):
        calls = _calls(turn)
        if results < len(calls):
            answer = Answer(calls=calls)
            break
        results -= len(calls)
    return replace(
        answer, delay_s=float(plan.get("delay_s", 0)), pause_s=float(plan.get("pause_s", 0))
    )


def _current_plan(turns: Sequence[Turn]) -> tuple[dict[str, Any], int] | None:
    results = 0
    for turn in reversed(turns):
        if turn.role == "assistant" and not turn.calls:
            return None  # that exchange has ended, whatever was planned before it
        if turn.role == "tool":
            results += 1
        # Other user messages may follow the plan (nudges), so search further back.
        if turn.role == "user" and (plan := _read_plan(turn.text)) is not None:
            return plan, results
    return None


def _read_plan(text: str) -> dict[str, Any] | None:
    start = text.rfind(MARK)
    if start < 0:
        return None
    try:
        plan, _ = json.JSONDecoder().raw_decode(text[start + len(MARK) :].lstrip())
    except ValueError:
        return None
    return plan if isinstance(plan, dict) else None


def _calls(turn: list[Any]) -> tuple[FakeCall, ...]:
    pairs = turn if isinstance(turn[0], list) else [turn]
    return tuple(FakeCall(name=name, arguments=arguments) for name, arguments in pairs)


class FakeModel:
    """The fake model server, with its queue and rules."""

    def __init__(self, *, port: int = 0, rule: Rule | None = None, delay_s: float = 0.0) -> None:
        self.rule = rule
        self.requests: list[SeenRequest] = []
        # Whether capture requests are answered and recorded like all others.
        self.script_captures = False
        # The capture requests that got an empty result.
        self.captures: list[SeenRequest] = []
        self._delay_s = delay_s
        self._queue: deque[Answer] = deque()
        self._arrived = threading.Condition()
        self._gate = asyncio.Event()
        self._gate.set()
        self._server = LoopbackServer(self._respond, port=port)

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    @property
    def url(self) -> str:
        """The base URL for a route, with or without `/v1`."""
        return self._server.url

    def queue(self, *answers: Answer | str) -> None:
        """Queue answers for the next requests."""
        self._queue.extend(_as_answer(answer) for answer in answers)

    def forget(self) -> None:
        """Drop the queued answers."""
        self._queue.clear()

    def fail(self, status: int, *, times: int = 1, retry_after: str = "") -> None:
        """Answer the next requests with an HTTP error."""
        headers = {"Retry-After": retry_after} if retry_after else {}
        self.queue(*[Answer(status=status, headers=headers)] * times)

    def hold(self) -> None:
        """Block every request before its first byte until `release`."""
        self._server.run(self._gate.clear)

    def release(self) -> None:
        """Unblock the held requests and all later ones."""
        self._server.run(self._gate.set)

    def wait_for_requests(self, count: int, *, timeout_s: float = 10.0) -> None:
        """Wait until this many requests have arrived since the start."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self.requests) >= count, timeout_s):
                raise TimeoutError(f"{len(self.requests)} of {count} requests arrived")

    async def _respond(self, request: HttpRequest, reply: HttpReply) -> None:
        dialect = _dialect(request)
        if dialect is None:
            await self._control(request, reply)
            return
        seen = _read(request, dialect)
        if seen.system in {INSTRUCTIONS, COMPARE} and not self.script_captures:
            self.captures.append(seen)
            await _speak(NOTHING_FOUND, seen, reply)
            return
        with self._arrived:
            self.requests.append(seen)
            self._arrived.notify_all()
        answer = self._answer(seen)
        await self._gate.wait()
        # A sleep of zero seconds would still cost a turn of the event loop.
        if wait := answer.delay_s or self._delay_s:
            await asyncio.sleep(wait)
        await _speak(answer, seen, reply)

    def _answer(self, seen: SeenRequest) -> Answer:
        if self._queue:
            return self._queue.popleft()
        ruled = self.rule(seen) if self.rule else None
        return _as_answer(ruled) if ruled is not None else answer_by_plan(seen) or Answer(text="ok")

    async def _control(self, request: HttpRequest, reply: HttpReply) -> None:
        """The control endpoints for a test that runs the server as a process."""
        if request.method == "GET" and request.path == "/requests":
            await reply.document([{"path": r.path, "body": r.body} for r in self.requests])
        elif request.method == "POST" and request.path == "/hold":
            self._gate.clear()
            await reply.document({"held": True})
        elif request.method == "POST" and request.path == "/release":
            self._gate.set()
            await reply.document({"held": False})
        else:
            await reply.document({"error": {"message": "no such path"}}, status=404)


def _dialect(request: HttpRequest) -> Dialect | None:
    path = request.path.partition("?")[0]
    if request.method != "POST":
        return None
    if path.endswith("/chat/completions"):
        return "openai"
    return "anthropic" if path.endswith("/messages") else None


def _read(request: HttpRequest, dialect: Dialect) -> SeenRequest:
    body = json.loads(request.body)
    return SeenRequest(
        path=request.path,
        headers=request.headers,
        body=body,
        dialect=dialect,
        turns=_WIRES[dialect].read_turns(body),
        arrived_at_ms=time.time_ns() // 1_000_000,
    )


async def _speak(answer: Answer, seen: SeenRequest, reply: HttpReply) -> None:
    wire = _WIRES[seen.dialect]
    if answer.garbage is not None:
        await reply.whole(answer.garbage, status=answer.status, headers=answer.headers)
    elif answer.status != 200:
        body = wire.error_body(answer)
        await reply.document(body, status=answer.status, headers=answer.headers)
    elif answer.plain or not seen.streams:
        await reply.document(wire.plain_body(answer, seen), headers=answer.headers)
    else:
        await _stream(wire.stream_events(answer, seen), answer, reply)


async def _stream(events: Iterator[bytes], answer: Answer, reply: HttpReply) -> None:
    await reply.begin_stream()
    sent = list(events)
    broken = answer.cut or answer.stall
    for event in sent[: len(sent) // 2] if broken else sent:
        await reply.send(event)
        if answer.pause_s:
            await asyncio.sleep(answer.pause_s)
    if answer.stall:
        await asyncio.Event().wait()
    elif answer.cut:
        reply.drop()
    else:
        await reply.end_stream()


def _as_answer(answer: Answer | str) -> Answer:
    return Answer(text=answer) if isinstance(answer, str) else answer


def main() -> None:
    """Serve until the process is stopped."""
    parser = argparse.ArgumentParser(description="A fake model for tests, on loopback only.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    options = parser.parse_args()
    with FakeModel(port=options.port, delay_s=options.delay) as fake:
        sys.stdout.write(f"fake model listening on {fake.url}\n")
        sys.stdout.flush()
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()

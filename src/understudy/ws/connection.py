"""One connection: requests in their order, answers and events through one bounded queue."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import structlog
from starlette.concurrency import run_in_threadpool
from starlette.websockets import WebSocket, WebSocketDisconnect

from understudy.core.audit import current_request_id
from understudy.core.errors import Unauthenticated
from understudy.core.ids import new_id
from understudy.skills.events import SkillEvent
from understudy.ws.errors import error_of
from understudy.ws.events import Inbox, audible
from understudy.ws.frames import BadFrame, answer_frame, error_frame, event_frame, fits, request_of
from understudy.ws.handshake import Caller
from understudy.ws.limits import Limits
from understudy.ws.methods import answer
from understudy.ws.quota import QuotaSlot

if TYPE_CHECKING:
    from understudy.daemon.services import Services

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Close:
    """The last that is sent: a code of RFC 6455, and why."""

    code: int
    reason: str


NOT_TEXT: Final = Close(1003, "frames are JSON text")
NO_CONNECT: Final = Close(1008, "connect did not come in time")
TOO_MANY_ATTEMPTS: Final = Close(1008, "too many requests without connect")
NO_LONGER_KNOWN: Final = Close(1008, "the token is no longer valid")
TOO_LARGE: Final = Close(1009, "too much for a caller who is not known")
FAILED: Final = Close(1011, "something went wrong in the daemon")
STOPPING: Final = Close(1012, "the daemon stops")
BEHIND: Final = Close(1013, "more happened than could be told")


class TooSlow(Exception):
    """A client takes less than it is sent."""


class WebSocketConnection:
    """One open WebSocket: its reader, its writer and its queue."""

    def __init__(
        self, socket: WebSocket, services: "Services", slot: QuotaSlot, limits: Limits
    ) -> None:
        self._socket = socket
        self._services = services
        self._limits = limits
        self._caller = Caller(services, socket.headers, slot)
        self._attempts = 0
        self._answering = asyncio.Lock()
        self._outbox: asyncio.Queue[str | Close] = asyncio.Queue(limits.queue)
        self._inbox = Inbox(limits.backlog)
        self._unsubscribe = services.skills.events.subscribe(self._inbox.note)

    async def serve(self) -> None:
        """Go on until one of the two ends it; what was promised is sent before."""
        writing = asyncio.create_task(self._write())
        feeding = [asyncio.create_task(task) for task in (self._read(), self._tell(), self._stop())]
        try:
            await asyncio.wait({writing, *feeding}, return_when=asyncio.FIRST_COMPLETED)
            last = _last_words(feeding)
            if last is not None and not writing.done():
                await self._put(last)
                await writing
        except TooSlow:
            log.info("ws.too_slow")
        finally:
            self._unsubscribe()
            for task in (writing, *feeding):
                task.cancel()
            await asyncio.gather(writing, *feeding, return_exceptions=True)

    async def _read(self) -> Close | None:
        """Answer one request after another; None when the client left."""
        by = asyncio.get_running_loop().time() + self._limits.read_s
        while True:
            try:
                async with asyncio.timeout_at(None if self._caller.is_known else by):
                    message = await self._socket.receive()
            except TimeoutError:
                return NO_CONNECT
            if message["type"] == "websocket.disconnect":
                return None
            text = message.get("text")
            if text is None:
                return NOT_TEXT
            last = await self._take(text)
            if last is not None:
                return last

    async def _take(self, text: str) -> Close | None:
        """Answer one frame; what ends the connection, if it does."""
        if not self._caller.is_known:
            self._attempts += 1
            if self._attempts > self._limits.attempts:
                return TOO_MANY_ATTEMPTS
            if len(text) > self._limits.first_frame_chars:
                return TOO_LARGE
        async with self._answering:
            was_known = self._caller.is_known
            current_request_id.set(new_id("req"))
            reply, error = await run_in_threadpool(self._reply, text)
            await self._put(reply)
        return NO_LONGER_KNOWN if was_known and isinstance(error, Unauthenticated) else None

    def _reply(self, text: str) -> tuple[str, Exception | None]:
        """The frame that answers a frame, and what went wrong."""
        try:
            frame = request_of(text)
        except BadFrame as bad:
            return error_frame(bad.id, error_of(bad.cause, self._caller.locale)), bad.cause
        try:
            payload = answer(self._services, self._caller, frame).model_dump(mode="json")
            return answer_frame(frame.id, payload), None
        except Exception as error:  # noqa: BLE001 - the edge: a caller gets an answer, the log the rest
            return error_frame(frame.id, error_of(error, self._caller.locale)), error

    async def _tell(self) -> Close | None:
        """Pass on what happens, to whoever may hear it at that moment."""
        seq = 0
        while True:
            events = await self._inbox.take()
            if events is None:
                return BEHIND
            if not self._caller.is_known:
                continue
            try:
                heard = await run_in_threadpool(self._audible, events)
            except Unauthenticated:
                return NO_LONGER_KNOWN
            for event in heard:
                frame = event_frame(event.name.value, event.payload, seq + 1)
                if fits(frame):
                    seq += 1
                    await self._put(frame)

    def _audible(self, events: list[SkillEvent]) -> list[SkillEvent]:
        return audible(self._services.skills.library, self._caller.principal(), events)

    async def _stop(self) -> Close:
        """Wait until the daemon stops; a request under way is answered first."""
        await self._services.resources.shutting_down.wait()
        async with self._answering:
            return STOPPING

    async def _put(self, frame: str | Close) -> None:
        """Have something sent after all that waits already."""
        try:
            async with asyncio.timeout(self._limits.write_s):
                await self._outbox.put(frame)
        except TimeoutError:
            raise TooSlow from None

    async def _write(self) -> None:
        """Send what is to be sent; ends with the last, or with a client that does not take it."""
        try:
            while True:
                frame = await self._outbox.get()
                async with asyncio.timeout(self._limits.write_s):
                    if isinstance(frame, Close):
                        await self._socket.close(frame.code, frame.reason)
                        return
                    await self._socket.send_text(frame)
        except TimeoutError:
            log.info("ws.too_slow")
        except (WebSocketDisconnect, RuntimeError):
            # The server closed it before, on what was no WebSocket frame or on a missed ping.
            log.debug("ws.caller_left")


def _last_words(tasks: Iterable["asyncio.Task[Close | None]"]) -> Close | None:
    """The close frame of the first task that ended; None when the client is gone."""
    for task in tasks:
        if not task.done():
            continue
        error = task.exception()
        if error is None:
            return task.result()
        if isinstance(error, TooSlow):
            raise error
        log.error("ws.failed", exc_info=error)
        return FAILED
    return None

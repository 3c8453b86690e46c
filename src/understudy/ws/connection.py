"""One WebSocket connection: requests in order, answers and events through one queue."""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import structlog
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.websockets import WebSocket, WebSocketDisconnect

from understudy.core.audit import current_request_id
from understudy.core.bell import EVENTS, RELEASED
from understudy.core.errors import Invalid, Unauthenticated, UnderstudyError, coded_error
from understudy.core.ids import new_id
from understudy.core.principal import Principal, Role
from understudy.core.showable import showable
from understudy.core.strict_json import check, load
from understudy.core.visibility import current_visibility, visibility_of
from understudy.sessions.journal import EventKind, FeedPage, FeedPlace, JournalEvent
from understudy.skills.events import SkillEvent, SkillEventName
from understudy.skills.library import SkillLibrary
from understudy.wire.base import JsonObject
from understudy.wire.masking import masked
from understudy.wire.websocket import MAX_ID_CHARS, FrameError, FrameId, RequestFrame
from understudy.work.db_retry import repeat_while_db_down, retry_while_db_down
from understudy.ws.errors import error_of, wrong_values
from understudy.ws.handshake import Caller
from understudy.ws.limits import MAX_FRAME_BYTES, Limits
from understudy.ws.methods import answer
from understudy.ws.quota import QuotaSlot

if TYPE_CHECKING:
    from understudy.daemon.services import Services

log = structlog.get_logger()

# Journal events sent to every client, under the names of the streams.
RUN_EVENTS: Final = (EventKind.CANDIDATES_ADDED, EventKind.HINT)
# The interval at which the token of an idle connection is checked.
LOOK_EVERY_S: Final = 15.0
MAX_RUN_EVENTS: Final = 100

Audience = Callable[[SkillLibrary, Principal, SkillEvent], bool]
# Presence and health are reserved fields of the protocol, unused here.
STATE_VERSION: Final = {"presence": 0, "health": 0}


def knows_the_skill(library: SkillLibrary, principal: Principal, event: SkillEvent) -> bool:
    """Whether the skill is visible to the caller."""
    if event.slug is None:
        return False
    try:
        library.current(principal, event.slug)
    except UnderstudyError:
        return False
    return True


def is_admin(_: SkillLibrary, principal: Principal, __: SkillEvent) -> bool:
    """Whether the caller is an admin: installs reveal skills of other users."""
    return principal.role.includes(Role.ADMIN)


# Events without an entry are sent to no client.
AUDIENCES: Final[Mapping[SkillEventName, Audience]] = {
    SkillEventName.DEPS_CHECKED: knows_the_skill,
    SkillEventName.DEPS_COMPLETE: is_admin,
    SkillEventName.DEPS_INSTALLING: is_admin,
    SkillEventName.DEPS_INSTALLED: is_admin,
    SkillEventName.DEP_INSTALLING: is_admin,
    SkillEventName.DEP_INSTALLED: is_admin,
}


def audible(
    library: SkillLibrary, principal: Principal, events: Iterable[SkillEvent]
) -> list[SkillEvent]:
    """The events that are visible to a principal."""
    return [event for event in events if AUDIENCES[event.name](library, principal, event)]


class Inbox:
    """A bounded queue of skill events, which may arrive from any thread."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._loop = asyncio.get_running_loop()
        self._events: list[SkillEvent] = []
        self._arrived = asyncio.Event()
        self._is_over = False

    def note(self, event: SkillEvent) -> None:
        """Add an event; called on the thread of its sender."""
        if event.name in AUDIENCES and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._add, event)

    async def take(self) -> list[SkillEvent] | None:
        """Wait for the events since the last call; None after an overflow."""
        await self._arrived.wait()
        if self._is_over:
            return None
        self._arrived.clear()
        events, self._events = self._events, []
        return events

    def _add(self, event: SkillEvent) -> None:
        self._is_over = self._is_over or len(self._events) >= self._size
        if not self._is_over:
            self._events.append(event)
        self._arrived.set()


class BadFrame(Exception):
    """An invalid request frame; the id is None if it has none that could be answered."""

    def __init__(self, frame_id: FrameId, cause: UnderstudyError) -> None:
        super().__init__(cause.code)
        self.id = frame_id
        self.cause = cause


def request_of(text: str) -> RequestFrame:
    """Parse the request in a frame; raises `BadFrame`."""
    frame_id: FrameId = None
    try:
        value = load(text)
        frame_id = _id_of(value)
        check(value)
    except Invalid as problem:
        raise BadFrame(frame_id, problem) from None
    try:
        frame = RequestFrame.model_validate(value)
    except ValidationError as found:
        raise BadFrame(frame_id, wrong_values(found)) from None
    if frame_id is None:
        cause = coded_error("ws/invalid_id", pointer="/id", max_id_chars=MAX_ID_CHARS)
        raise BadFrame(None, cause)
    return frame


def _id_of(value: object) -> FrameId:
    """The id of a frame, even if it is otherwise invalid; None without a usable id."""
    match value:
        case {"id": bool()}:
            return None
        case {"id": int() as number} if _is_fine(number):
            return number
        case {"id": str() as text} if 0 < len(text) <= MAX_ID_CHARS and _is_fine(text):
            return text
        case _:
            return None


def _is_fine(value: int | str) -> bool:
    """Whether an id can be sent back: a number in range, or text without lone surrogates."""
    try:
        check(value)
    except Invalid:
        return False
    return True


def answer_frame(frame_id: FrameId, payload: JsonObject) -> str:
    """An answer frame; `LimitExceeded` if it is too large."""
    text = _encode({"type": "res", "id": frame_id, "ok": True, "payload": payload})
    if not fits(text):
        raise coded_error("ws/answer_too_large", limit_bytes=MAX_FRAME_BYTES)
    return text


def error_frame(frame_id: FrameId, error: FrameError) -> str:
    """An error frame."""
    return _encode(
        {"type": "res", "id": frame_id, "ok": False, "error": error.model_dump(mode="json")}
    )


def run_event_payload(event: JournalEvent) -> dict[str, object]:
    """The payload for a journal event: the same as in the stream event of that name."""
    where = {"session_id": event.session_id, "timestamp_ms": event.at_ms}
    return {**event.data, "run_id": event.run_id, **where}


def event_frame(name: str, payload: Mapping[str, object], seq: int) -> str:
    """An event frame; `seq` counts the events of a connection."""
    return _encode(
        {
            "type": "event",
            "event": name,
            "payload": showable(dict(payload)),
            "seq": seq,
            "stateVersion": STATE_VERSION,
        }
    )


def fits(text: str) -> bool:
    """Whether a text fits into a frame."""
    return len(text) <= MAX_FRAME_BYTES and len(text.encode()) <= MAX_FRAME_BYTES


def _encode(frame: Any) -> str:
    return json.dumps(frame, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Close:
    """The close frame: a status code of RFC 6455, and the reason."""

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
    """The client reads more slowly than it is sent to."""


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
        # The number of events sent.
        self._seq = 0

    async def serve(self) -> None:
        """Serve until one side closes; queued frames are sent first."""
        writing = asyncio.create_task(self._write())
        work = (self._read(), self._tell(), self._tell_of_runs(), self._stop())
        feeding = [asyncio.create_task(task) for task in work]
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
        """Answer one request after another; None if the client disconnected."""
        by = asyncio.get_running_loop().time() + self._limits.auth_timeout_s
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
        """Answer one frame; returns a close frame if the connection must end."""
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
        """The reply to a frame, and the error if any."""
        try:
            frame = request_of(text)
        except BadFrame as bad:
            return error_frame(bad.id, error_of(bad.cause, self._caller.locale)), bad.cause
        try:
            payload = answer(self._services, self._caller, frame).model_dump(mode="json")
            return answer_frame(frame.id, self._masked(payload, text)), None
        except Exception as error:  # noqa: BLE001 - the edge: a caller gets an answer, the log the rest
            return error_frame(frame.id, error_of(error, self._caller.locale)), error

    async def _tell(self) -> Close | None:
        """Forward skill events that are visible to the caller at that moment."""
        while True:
            events = await self._inbox.take()
            if events is None:
                return BEHIND
            if not self._caller.is_known:
                continue
            try:
                for event in await run_in_threadpool(self._audible, events):
                    await self._send_event(event.name.value, event.payload)
            except Unauthenticated:
                return NO_LONGER_KNOWN

    async def _tell_of_runs(self) -> Close | None:
        """Forward run events since the connection was opened."""
        bell = self._services.resources.bell
        after = await retry_while_db_down(self._last_place)
        while True:
            seen = {topic: bell.count(topic) for topic in (EVENTS, RELEASED)}
            if self._caller.is_known:
                try:
                    page = await self._run_events(after, sum(seen.values()))
                    for event in page.events:
                        await self._send_event(str(event.kind), run_event_payload(event))
                except Unauthenticated:
                    return NO_LONGER_KNOWN
                after = page.place
                if page.more:
                    continue
            await bell.wait(seen, timeout_s=LOOK_EVERY_S)

    def _last_place(self) -> FeedPlace:
        with self._services.resources.units.read() as unit:
            return unit.feed.last_place()

    async def _run_events(self, after: FeedPlace, rung: int) -> FeedPage:
        """The next run events, and the place up to which they were read.

        Connections at the same place share the read, for callers with the same visibility.
        """
        read = partial(self._read_events, after)
        reads = partial(self._services.resources.reads.once, ("ws", after), rung, read)
        principal = await retry_while_db_down(self._caller.principal)
        # Set in this task, so that the read returns only rows visible to the caller.
        current_visibility.set(
            visibility_of(principal, self._services.resources.settings.isolation)
        )
        return await repeat_while_db_down(reads)

    def _read_events(self, after: FeedPlace) -> FeedPage:
        with self._services.resources.units.read() as unit:
            page = unit.feed.page(after, kinds=RUN_EVENTS, limit=MAX_RUN_EVENTS)
        self._services.resources.bell.note_feed(is_held=page.is_held)
        return page

    def _masked(self, payload: JsonObject, asked: str = "") -> JsonObject:
        """A payload masked for its reader; text of the request itself may appear in its answer."""
        shown: JsonObject = masked(self._services.resources.units, payload, asked)
        return shown

    def _event(self, name: str, payload: Mapping[str, object]) -> str:
        self._caller.principal()
        return event_frame(name, self._masked(dict(payload)), self._seq + 1)

    async def _send_event(self, name: str, payload: Mapping[str, object]) -> None:
        frame = await run_in_threadpool(self._event, name, payload)
        if fits(frame):
            self._seq += 1
            await self._put(frame)

    def _audible(self, events: list[SkillEvent]) -> list[SkillEvent]:
        return audible(self._services.skills.library, self._caller.principal(), events)

    async def _stop(self) -> Close:
        """Wait for shutdown of the daemon; a running request is answered first."""
        await self._services.resources.shutting_down.wait()
        async with self._answering:
            return STOPPING

    async def _put(self, frame: str | Close) -> None:
        """Queue a frame for sending; raises `TooSlow` after a timeout."""
        try:
            async with asyncio.timeout(self._limits.write_timeout_s):
                await self._outbox.put(frame)
        except TimeoutError:
            raise TooSlow from None

    async def _write(self) -> None:
        """Send queued frames until a close frame, a timeout or a disconnect."""
        try:
            while True:
                frame = await self._outbox.get()
                async with asyncio.timeout(self._limits.write_timeout_s):
                    if isinstance(frame, Close):
                        await self._socket.close(frame.code, frame.reason)
                        return
                    await self._socket.send_text(frame)
        except TimeoutError:
            log.info("ws.too_slow")
        except (WebSocketDisconnect, RuntimeError):
            # Already closed by the server: an invalid frame or a missed ping.
            log.debug("ws.caller_left")


def _last_words(tasks: Iterable["asyncio.Task[Close | None]"]) -> Close | None:
    """The close frame of the first task that ended; None if the client is gone."""
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

"""The duty of the bridge worker: send pending messages, and poll mailboxes."""

import asyncio
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final

import structlog

from understudy import __version__
from understudy.channels import bridge_mail
from understudy.channels.bridge_mail import MailFailed, MailHostRefused
from understudy.channels.bridge_mapping import filled, presets
from understudy.channels.bridge_model import (
    MAX_ATTEMPTS,
    Bridge,
    BridgeDelivery,
    BridgeDeliveryStatus,
    Connector,
)
from understudy.channels.bridge_signatures import encoded, signed_headers
from understudy.channels.bridges import BridgeService
from understudy.channels.model import ChannelMessage
from understudy.core.clock import Clock
from understudy.deliveries.model import TargetAnswer, TryOutcome, wait_ms
from understudy.deliveries.webhook import WebhookSender
from understudy.deliveries.worker import judge
from understudy.sessions.scopes import effective_credential_scope
from understudy.work.db_retry import retry_while_db_down
from understudy.work.worker import Claim, WorkerSleep

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

log = structlog.get_logger()

AT_ONCE: Final = 8
LEASE_MS: Final = 60_000
POLL_MS: Final = 15_000
TOPIC: Final = "channels"
REFUSED: Final = (
    "the credential scope of session {session_id} does not allow {name}: {kind}_{side} {verb} it"
)
VERBS: Final = {"allow": "lacks", "deny": "has"}
GONE: Final = "the message or its bridge is gone"
STATUS_AFTER: Final = {
    TryOutcome.DELIVERED: BridgeDeliveryStatus.DELIVERED,
    TryOutcome.RETRY: BridgeDeliveryStatus.PENDING,
    TryOutcome.DEAD: BridgeDeliveryStatus.DEAD,
}

# A work item: send a message, or poll a mailbox.
Item = BridgeDelivery | Bridge


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeDuty:
    """Sends messages over bridges, and fetches mail; any number of workers share them."""

    at_once: ClassVar[int] = AT_ONCE
    sleep: ClassVar[WorkerSleep] = WorkerSleep(
        topics=(TOPIC,),
        longest_s=2.0,
        tables=("bridge_deliveries", "channel_bridges"),
        shortest_s=0.2,
    )

    units: "Units"
    clock: Clock
    service: BridgeService
    sender: WebhookSender
    jitter: Callable[[], float] = random.SystemRandom().random

    def claim(self, limit: int) -> Claim[Item]:
        """Claim due items under a lease longer than one attempt takes."""
        now = self.clock.now_ms()
        with self.units.read() as unit:
            due = unit.bridges.next_due_ms()
        if limit <= 0 or due is None or due > now:
            return Claim(due_at_ms=due)
        with self.units.write() as unit:
            items: list[Item] = [
                *unit.bridges.deliveries.claim(now, until_ms=now + LEASE_MS, limit=limit),
                *unit.bridges.claim_mailboxes(now, until_ms=now + LEASE_MS, limit=limit),
            ]
        return Claim(items=tuple(items), due_at_ms=due)

    async def do(self, item: Item) -> None:
        """Send one message or fetch one mailbox; the outcome is stored."""
        try:
            if isinstance(item, Bridge):
                await self._fetch(item)
            else:
                await self._deliver(item)
        except Exception:
            # The lease runs out, and then the item is retried.
            log.exception("bridge.failed", bridge_id=item.bridge_id)

    async def _deliver(self, delivery: BridgeDelivery) -> None:
        bridge, message, refusal = await retry_while_db_down(self._opened, delivery)
        if bridge is None or message is None:
            outcome = replace(delivery, status=BridgeDeliveryStatus.DEAD, last_error=GONE)
        elif refusal is not None:
            outcome = replace(delivery, status=BridgeDeliveryStatus.REFUSED, last_error=refusal)
        else:
            thread = await retry_while_db_down(self._thread, bridge, message)
            answer = await self._sent(bridge, message, delivery, thread)
            outcome = self._judged(delivery, answer)
        await retry_while_db_down(self._store, replace(outcome, attempts=delivery.attempts + 1))

    async def _fetch(self, bridge: Bridge) -> None:
        try:
            heard, empty = await asyncio.to_thread(bridge_mail.fetch, bridge)
            for _, message in heard:
                await retry_while_db_down(self.service.take, bridge, [message])
            seen = [*(number for number, _ in heard), *empty]
            await asyncio.to_thread(bridge_mail.mark_seen, bridge, seen)
        except MailFailed as problem:
            log.warning("bridge.mail_failed", bridge_id=bridge.bridge_id, reason=str(problem))
        await retry_while_db_down(self._poll_again, bridge)

    def _opened(
        self, delivery: BridgeDelivery
    ) -> tuple[Bridge | None, ChannelMessage | None, str | None]:
        """The bridge and the message of a delivery, and why it may not be sent."""
        with self.units.read() as unit:
            bridge = unit.bridges.get(delivery.bridge_id)
            message = unit.channel_messages.get(delivery.message_id)
            if bridge is None or message is None:
                return None, None, None
            return bridge, message, _refusal(unit, bridge, message)

    def _thread(self, bridge: Bridge, message: ChannelMessage) -> str | None:
        """The external id of the message that this one answers, or of its thread."""
        with self.units.read() as unit:
            answered = message.reply_to_message_id or message.root_id
            return unit.bridges.external_of(bridge.bridge_id, answered) or (
                unit.bridges.external_of(bridge.bridge_id, message.root_id)
            )

    async def _sent(
        self, bridge: Bridge, message: ChannelMessage, delivery: BridgeDelivery, thread: str | None
    ) -> TargetAnswer:
        if bridge.connector is Connector.EMAIL:
            return await self._mailed(bridge, message, thread)
        method, url, headers, body = request_of(bridge, message, thread)
        if bridge.connector is Connector.WEBHOOK:
            secret = bridge.credentials.get("secret", "")
            now = self.clock.now_ms()
            headers = {**headers, **signed_headers(secret, delivery.delivery_id, now, body)}
        return await self.sender.post(url, headers, body, method=method)

    async def _mailed(
        self, bridge: Bridge, message: ChannelMessage, thread: str | None
    ) -> TargetAnswer:
        def send() -> None:
            with self.units.read() as unit:
                channel = unit.channels.get(message.channel_id)
            bridge_mail.send(
                bridge,
                text=message.content,
                subject=channel.title if channel else message.channel_id,
                sender_name=message.sender.display_name,
                thread=thread,
                key=message.message_id,
            )
            # A reply to this mail is a reply to the message.
            with self.units.write() as unit:
                external_id = bridge_mail.message_id_of(bridge, message.message_id)
                unit.bridges.link(bridge.bridge_id, external_id, message.message_id)

        try:
            await asyncio.to_thread(send)
        except MailFailed as problem:
            is_final = isinstance(problem, MailHostRefused)
            return TargetAnswer(error=str(problem), is_final=is_final)
        return TargetAnswer(status_code=200)

    def _judged(self, delivery: BridgeDelivery, answer: TargetAnswer) -> BridgeDelivery:
        verdict = judge(answer, attempt=delivery.attempts + 1, jitter=self.jitter())
        wait = wait_ms(delivery.attempts + 1, jitter=self.jitter())
        status = STATUS_AFTER[verdict.outcome]
        if status is BridgeDeliveryStatus.PENDING and (
            wait is None or delivery.attempts + 1 >= MAX_ATTEMPTS
        ):
            status = BridgeDeliveryStatus.DEAD
        due = self.clock.now_ms() + verdict.wait_ms
        is_pending = status is BridgeDeliveryStatus.PENDING
        return replace(
            delivery,
            status=status,
            last_error=verdict.error,
            due_at_ms=due if is_pending else None,
        )

    def _store(self, delivery: BridgeDelivery) -> None:
        is_pending = delivery.status is BridgeDeliveryStatus.PENDING
        with self.units.write() as unit:
            unit.bridges.deliveries.update(
                delivery if is_pending else replace(delivery, due_at_ms=None)
            )
        log.info(
            "bridge.delivery",
            bridge_id=delivery.bridge_id,
            delivery_id=delivery.delivery_id,
            status=str(delivery.status),
            error=delivery.last_error,
        )

    def _poll_again(self, bridge: Bridge) -> None:
        with self.units.write() as unit:
            unit.bridges.poll_at(bridge.bridge_id, self.clock.now_ms() + POLL_MS)


def _refusal(unit: "Unit", bridge: Bridge, message: ChannelMessage) -> str | None:
    """Why an agent may not use a bridge: its session's credential scope denies it."""
    if message.sender_session_id is None:
        return None
    session = unit.sessions.get(message.sender_session_id)
    scope = None if session is None else effective_credential_scope(session)
    if scope is None:
        return None
    wanted = {"connector": str(bridge.connector), "connector_credential": bridge.bridge_id}
    for kind, name in wanted.items():
        side = scope.gate(kind).refusing(name)
        if side is not None:
            named = {"session_id": message.sender_session_id, "name": name, "kind": kind}
            return REFUSED.format(**named, side=side, verb=VERBS[side])
    return None


def request_of(
    bridge: Bridge, message: ChannelMessage, thread: str | None
) -> tuple[str, str, Mapping[str, str], bytes]:
    """The request that sends a message over a bridge: method, URL, headers and body."""
    agent = {"Content-Type": "application/json", "User-Agent": f"understudy/{__version__}"}
    shape = presets()[bridge.connector].outgoing
    if shape is None:
        document = {
            "bridge_id": bridge.bridge_id,
            "channel_id": message.channel_id,
            "message_id": message.message_id,
            "thread_root_message_id": message.root_id,
            "reply_to_message_id": message.reply_to_message_id,
            "thread": thread,
            "author": {"id": message.sender.id, "display_name": message.sender.display_name},
            "is_agent": message.sender_session_id is not None,
            "text": message.content,
            "created_at_ms": message.created_at_ms,
        }
        return "POST", bridge.outgoing_url or "", agent, encoded(document)
    said = {
        "text": message.content,
        "thread": thread or "",
        "sender": message.sender.display_name,
        "message_id": message.message_id,
    }
    names = {**bridge.settings, **bridge.credentials, **said}
    url = filled(bridge.outgoing_url or shape.url, names, is_url=True)
    return (
        shape.method,
        url,
        {**agent, **filled(shape.headers, names)},
        encoded(filled(shape.body, names)),
    )

"""Use cases of bridges: create and change them, accept incoming messages, queue outgoing ones."""

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from understudy.access.signing_keys import public_key_in_hex
from understudy.channels.bridge_mapping import (
    check_mapping,
    check_names,
    heard_in,
    presets,
    target_of,
)
from understudy.channels.bridge_model import (
    MAX_BRIDGES,
    Bridge,
    BridgeDelivery,
    BridgeReceipt,
    Connector,
    IgnoredMessage,
    IncomingMessage,
    NewBridge,
    require_bridge,
    require_own_bridge,
)
from understudy.channels.bridge_signatures import answer_for, check_sender, greeting
from understudy.channels.checks import namesake
from understudy.channels.model import (
    MAX_MEMBERS,
    Channel,
    ChannelMember,
    ChannelMessage,
    EventName,
    require_channel,
)
from understudy.channels.posting import NewChannelMessage, Posting
from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import DatabaseUnavailable, Invalid, UnderstudyError, coded_error
from understudy.core.ids import check_caller_id, new_id
from understudy.core.page import Page, PageRequest
from understudy.core.principal import DAEMON, Principal, Role
from understudy.core.records import extended
from understudy.runs.submission import check_reply_targets, host_refused_because
from understudy.sessions.model import MemberKind, ReplyTarget

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

PREFIX: Final = "brsec_"
MAX_BODY_BYTES: Final = 1024 * 1024
MAX_FIELD_CHARS: Final = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeService:
    """Everything that callers and connectors do with bridges, each in one transaction."""

    units: "Units"
    clock: Clock
    posting: Posting
    changed: Callable[[str], None] = lambda _: None

    def create(
        self,
        principal: Principal,
        channel_id: str,
        bridge_id: str | None,
        connector: Connector,
        **fields: Any,
    ) -> NewBridge:
        """Create a bridge; a generated secret is shown this once."""
        if bridge_id is not None:
            check_caller_id(bridge_id, field="bridge_id", domain="channels")
        now, made = self.clock.now_ms(), None
        credentials = dict(fields.pop("credentials", {}))
        if connector is Connector.WEBHOOK and not credentials.get("secret"):
            made = credentials["secret"] = PREFIX + secrets.token_urlsafe(32)
        bridge = Bridge(
            bridge_id=bridge_id or new_id("brg"),
            channel_id=channel_id,
            connector=connector,
            created_by=principal.user_id,
            created_at_ms=now,
            updated_at_ms=now,
            credentials=credentials,
            **fields,
        )
        bridge = _checked(bridge, now_ms=now)
        _check_identities(principal, bridge.identities)
        with self.units.write() as unit:
            require_channel(unit, channel_id, lock=True)
            if len(unit.bridges.of_channel(channel_id)) >= MAX_BRIDGES:
                raise coded_error("channels/too_many_bridges", limit=MAX_BRIDGES)
            if not unit.bridges.add(bridge):
                raise coded_error("channels/bridge_exists", bridge_id=bridge.bridge_id)
            self._audit(unit, principal, "channels.create_bridge", bridge)
        self.changed(channel_id)
        return extended(NewBridge, bridge, secret=made)

    def get(self, channel_id: str, bridge_id: str) -> Bridge:
        """One bridge of a channel."""
        with self.units.read() as unit:
            return require_bridge(unit, bridge_id, channel_id)

    def of_channel(self, channel_id: str) -> tuple[Bridge, ...]:
        """The bridges of a channel."""
        with self.units.read() as unit:
            require_channel(unit, channel_id)
            return unit.bridges.of_channel(channel_id)

    def update(
        self, principal: Principal, channel_id: str, bridge_id: str, **fields: Any
    ) -> Bridge:
        """Change the given fields; credentials that are given replace those of the same name.

        With a new target every stored credential has to be given again.
        """
        with self.units.write() as unit:
            require_channel(unit, channel_id, lock=True)
            stored = require_bridge(unit, bridge_id, channel_id)
            require_own_bridge(principal, stored)
            _check_identities(principal, fields.get("identities", {}), stored.identities)
            given = fields.pop("credentials", {})
            fields["credentials"] = {**stored.credentials, **given}
            now = self.clock.now_ms()
            changed = _checked(replace(stored, **fields), now_ms=now)
            old = sorted(stored.credentials.keys() - given.keys())
            if old and target_of(changed) != target_of(stored):
                raise coded_error(
                    "channels/bridge_credentials_dropped",
                    pointer="/credentials",
                    missing=", ".join(old),
                )
            if changed != stored:
                changed = replace(changed, version=stored.version + 1, updated_at_ms=now)
                unit.bridges.update(changed, expected_version=stored.version)
                self._audit(unit, principal, "channels.update_bridge", changed)
        self.changed(channel_id)
        return changed

    def delete(self, principal: Principal, channel_id: str, bridge_id: str) -> None:
        """Delete a bridge with its credentials; its messages stay."""
        with self.units.write() as unit:
            require_channel(unit, channel_id, lock=True)
            stored = require_bridge(unit, bridge_id, channel_id)
            require_own_bridge(principal, stored)
            unit.bridges.delete(bridge_id)
            self._audit(unit, principal, "channels.delete_bridge", stored)

    def deliveries(
        self, channel_id: str, bridge_id: str, request: PageRequest
    ) -> Page[BridgeDelivery]:
        """The deliveries of a bridge, newest first."""
        with self.units.read() as unit:
            require_bridge(unit, bridge_id, channel_id)
            return unit.bridges.deliveries.page(bridge_id, request)

    def hear(self, bridge_id: str, headers: Mapping[str, str], body: bytes) -> Mapping[str, Any]:
        """Accept a connector's request; returns the answer that it expects."""
        with self.units.read() as unit:
            bridge = unit.bridges.get(bridge_id)
        # Unsigned requests must not learn which bridges exist.
        if bridge is None or not bridge.is_enabled:
            raise coded_error("channels/bridge_signature_invalid", connector="bridge")
        check_sender(bridge, headers, body, now_ms=self.clock.now_ms())
        try:
            document = json.loads(body)
        except (ValueError, RecursionError):
            raise coded_error("channels/bridge_body_invalid") from None
        welcome = greeting(bridge, document)
        if welcome is not None:
            return welcome
        receipt = self.take(bridge, heard_in(bridge, document))
        return answer_for(bridge, asdict(receipt))

    def take(self, bridge: Bridge, heard: list[IncomingMessage]) -> BridgeReceipt:
        """Post incoming messages, each once; returns those that were not accepted, too."""
        posted, ignored = [], []
        for message in heard:
            try:
                with self.units.write() as unit:
                    channel = require_channel(unit, bridge.channel_id, lock=True)
                    posted.append(self._take_one(unit, channel, bridge, message))
            except DatabaseUnavailable:
                raise
            except UnderstudyError as problem:
                ignored.append(IgnoredMessage(external_id=message.external_id, reason=problem.code))
        if posted:
            self.changed(bridge.channel_id)
        return BridgeReceipt(message_ids=tuple(posted), ignored=tuple(ignored))

    def queue(self, unit: "Unit", channel: Channel, message: ChannelMessage) -> None:
        """Queue a new message for every bridge of its channel but the one it came over."""
        for bridge in unit.bridges.of_channel(channel.channel_id):
            has_way_out = bridge.outgoing_url or presets()[bridge.connector].outgoing
            is_mail = bridge.connector is Connector.EMAIL and bridge.settings.get("smtp_host")
            if (
                not bridge.is_enabled
                or not (has_way_out or is_mail)
                or message.metadata.get("bridge_id") == bridge.bridge_id
            ):
                continue
            now = self.clock.now_ms()
            unit.bridges.deliveries.insert(
                BridgeDelivery(
                    delivery_id=new_id("bdl"),
                    bridge_id=bridge.bridge_id,
                    message_id=message.message_id,
                    created_at_ms=now,
                    due_at_ms=now,
                )
            )

    def secrets(self) -> tuple[str, ...]:
        """Every credential of every bridge, to be redacted from published messages."""
        with self.units.read() as unit:
            return unit.bridges.secrets()

    def _take_one(
        self, unit: "Unit", channel: Channel, bridge: Bridge, heard: IncomingMessage
    ) -> str:
        known = unit.bridges.linked(bridge.bridge_id, heard.external_id)
        if known is not None:
            return known
        member = self._member(unit, channel, bridge, heard)
        parent = None
        if heard.thread is not None and heard.thread != heard.external_id:
            parent = unit.bridges.linked(bridge.bridge_id, heard.thread)
        wanted = NewChannelMessage(
            content=heard.text,
            reply_to_message_id=parent,
            sender_display_name=member.display_name,
        )
        marks = {"bridge_id": bridge.bridge_id, "external_id": heard.external_id}
        # No token has such a name, so the audit tells the bridge from its maker.
        who = replace(DAEMON, user_id=f"bridge {bridge.bridge_id} of {bridge.created_by}")
        message = self.posting.post(unit, who, channel, member, wanted, marks=marks)
        unit.bridges.link(bridge.bridge_id, heard.external_id, message.message_id)
        if heard.thread is not None and parent is None:
            # Later replies in that external thread are linked to this message.
            unit.bridges.link(bridge.bridge_id, heard.thread, message.message_id)
        return message.message_id

    def _member(
        self, unit: "Unit", channel: Channel, bridge: Bridge, heard: IncomingMessage
    ) -> ChannelMember:
        actor_id = bridge.identities.get(heard.author)
        if actor_id is None and bridge.unknown_senders == "guest":
            return self._guest(unit, channel, bridge, heard)
        member = actor_id and unit.channels.member_of(channel.channel_id, actor_id=actor_id)
        if not member:
            raise coded_error("channels/sender_not_a_member", sender=heard.author)
        return member

    def _guest(
        self, unit: "Unit", channel: Channel, bridge: Bridge, heard: IncomingMessage
    ) -> ChannelMember:
        """An external person as a member of the channel, under an id that no token can have."""
        clean = "".join(char if char.isalnum() or char in "-_.@" else "_" for char in heard.author)
        member_id = f"{bridge.bridge_id[:80]}:{clean[:100]}"
        known = unit.channels.member(channel.channel_id, member_id)
        if known is not None:
            return known
        if unit.channels.count_members(channel.channel_id) >= MAX_MEMBERS:
            raise coded_error("channels/channel_full", limit=MAX_MEMBERS)
        name = heard.author_name or heard.author
        is_taken = namesake(unit, channel.channel_id, name) is not None
        guest = ChannelMember(
            member_id=member_id,
            member_kind=MemberKind.HUMAN_ACTOR,
            display_name=name if name.isprintable() and not is_taken else member_id,
            actor_id=f"bridge:{member_id}",
            role=f"guest over {bridge.connector}",
            joined_at_ms=self.clock.now_ms(),
        )
        unit.channels.put_member(channel.channel_id, guest)
        data = {"member_id": member_id, "change": "joined"}
        unit.channels.event(channel.channel_id, EventName.MEMBER, data, at_ms=self.clock.now_ms())
        return guest

    def _audit(self, unit: "Unit", principal: Principal, action: str, bridge: Bridge) -> None:
        now = self.clock.now_ms()
        entry = audit.done(principal, action, bridge.bridge_id, at_ms=now, version=bridge.version)
        unit.audit.add(entry)


def _check_identities(
    principal: Principal, wanted: Mapping[str, str], stored: Mapping[str, str] | None = None
) -> None:
    """Refuse to map somebody outside to another actor than the caller; an admin may."""
    if principal.role.includes(Role.ADMIN):
        return
    for author, actor_id in wanted.items():
        if actor_id != principal.user_id and actor_id != (stored or {}).get(author):
            raise coded_error(
                "channels/bridge_identity_not_yours",
                pointer=f"/identities/{author}",
                actor_id=actor_id,
            )


def _check_public_key(text: str) -> None:
    try:
        public_key_in_hex(text)
    except ValueError:
        raise coded_error(
            "channels/bridge_invalid:public_key", pointer="/credentials/public_key"
        ) from None


def _address(url: str) -> str | None:
    """Where messages go; an empty address is none."""
    address = url.strip()
    if not address:
        return None
    try:
        check_reply_targets((ReplyTarget(plugin="http", address=address),))
    except Invalid as problem:
        raise problem.moved(lambda _: "/outgoing_url") from None
    return address


def _checked(bridge: Bridge, *, now_ms: int) -> Bridge:
    """The bridge, or `Invalid` for a missing or unusable setting."""
    check_mapping(bridge.mapping)
    check_names(bridge)
    for group in ("credentials", "settings", "identities"):
        for name, value in getattr(bridge, group).items():
            if not value.isprintable() or len(value) > MAX_FIELD_CHARS or not name.isprintable():
                raise coded_error("channels/bridge_invalid", pointer=f"/{group}/{name}", name=name)
    if bridge.connector is Connector.DISCORD:
        _check_public_key(bridge.credentials["public_key"])
    polls = bridge.connector is Connector.EMAIL and bridge.settings.get("imap_host")
    for name in ("imap_port", "smtp_port"):
        port = bridge.settings.get(name, "1")
        if not (port.isascii() and port.isdigit() and 0 < int(port) < 65_536):
            raise coded_error("channels/bridge_invalid", pointer=f"/settings/{name}", name=name)
    for name in ("imap_host", "smtp_host"):
        reason = host_refused_because(bridge.settings.get(name, ""))
        if reason is not None:
            raise coded_error(
                "sessions/invalid_reply_target:host", pointer=f"/settings/{name}", reason=reason
            )
    due = bridge.due_at_ms or now_ms
    return replace(
        bridge,
        outgoing_url=_address(bridge.outgoing_url or ""),
        credential_names=tuple(sorted(bridge.credentials)),
        due_at_ms=due if polls and bridge.is_enabled else None,
    )

"""E-mail over IMAP and SMTP, with the standard library alone."""

import imaplib
import smtplib
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from email import message_from_bytes, policy
from email.message import EmailMessage
from email.utils import make_msgid, parseaddr
from typing import Any, Final

from understudy.channels.bridge_mapping import heard_in
from understudy.channels.bridge_model import Bridge, IncomingMessage
from understudy.runs.submission import host_refused_because

TIMEOUT_S: Final = 20.0
MAX_FETCHED: Final = 50
MAX_MAIL_BYTES: Final = 2 * 1024 * 1024
# Values of `imap_security` and `smtp_security`.
TLS: Final = "tls"


class MailFailed(Exception):
    """The mail server cannot be reached or refuses; the message names no credential."""


class MailHostRefused(MailFailed):
    """The mail server has an address that nothing is sent to."""


def fetch(bridge: Bridge) -> tuple[list[tuple[bytes, IncomingMessage]], list[bytes]]:
    """New mail with its UIDs, and the UIDs of mail without a message for us."""
    heard, empty = [], []
    with _mailbox(bridge) as box:
        for number in _unseen(box):
            found = _fetched(box, number)
            messages = heard_in(bridge, found) if found is not None else []
            if messages:
                heard.append((number, messages[0]))
            else:
                empty.append(number)
    return heard, empty


def mark_seen(bridge: Bridge, numbers: list[bytes]) -> None:
    """Mark mail as seen, now that it is in the channel."""
    if not numbers:
        return
    with _mailbox(bridge) as box:
        for number in numbers:
            box.uid("STORE", number.decode(), "+FLAGS", r"(\Seen)")


def send(
    bridge: Bridge, *, text: str, subject: str, sender_name: str, thread: str | None, key: str
) -> None:
    """Send a message to the bridge's recipients; `key` makes its Message-ID, for retries too."""
    settings, secrets = bridge.settings, bridge.credentials
    mail = EmailMessage()
    mail["From"] = settings.get("from", "")
    mail["To"] = settings.get("to", "")
    mail["Subject"] = " ".join(f"{sender_name}: {subject}".split())[:200]
    mail["Message-ID"] = message_id_of(bridge, key)
    if thread:
        mail["In-Reply-To"] = mail["References"] = " ".join(thread.split())
    mail.set_content(text)
    host, port = settings.get("smtp_host", ""), int(settings.get("smtp_port", "465"))
    try:
        _check_addresses(host, port)
        with _smtp(settings, host, port) as server:
            _check_peer(server.sock)
            if secrets.get("smtp_password"):
                server.login(settings.get("smtp_user", ""), secrets["smtp_password"])
            server.send_message(mail)
    except (OSError, smtplib.SMTPException) as problem:
        raise MailFailed(f"SMTP: {type(problem).__name__}") from problem


def message_id_of(bridge: Bridge, key: str) -> str:
    """The Message-ID of an outgoing message."""
    domain = parseaddr(bridge.settings.get("from", ""))[1].rpartition("@")[2]
    return f"<{key}@{domain or 'localhost'}>" if key else make_msgid()


@contextmanager
def _mailbox(bridge: Bridge) -> Iterator[imaplib.IMAP4]:
    settings = bridge.settings
    host, port = settings.get("imap_host", ""), int(settings.get("imap_port", "993"))
    try:
        _check_addresses(host, port)
        if settings.get("imap_security", TLS) == TLS:
            context = ssl.create_default_context()
            box: imaplib.IMAP4 = imaplib.IMAP4_SSL(
                host, port, ssl_context=context, timeout=TIMEOUT_S
            )
        else:
            box = imaplib.IMAP4(host, port, timeout=TIMEOUT_S)
    except (OSError, imaplib.IMAP4.error) as problem:
        raise MailFailed(f"IMAP: {type(problem).__name__}") from problem
    try:
        _check_peer(box.socket())
        box.login(settings.get("imap_user", ""), bridge.credentials.get("imap_password", ""))
        box.select(settings.get("imap_folder", "INBOX"))
        yield box
    except (OSError, imaplib.IMAP4.error) as problem:
        # The error text of the library may contain what was sent.
        raise MailFailed(f"IMAP: {type(problem).__name__}") from problem
    finally:
        with suppress(OSError, imaplib.IMAP4.error):
            box.logout()


def _check_addresses(host: str, port: int) -> None:
    """Refuse a host one of whose addresses webhooks may not reach either."""
    for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        _check_address(str(entry[4][0]))


def _check_peer(connection: socket.socket | None) -> None:
    """The same for who answers, before it is sent anything: a name can change where it leads."""
    if connection is not None:
        _check_address(connection.getpeername()[0])


def _check_address(address: str) -> None:
    reason = host_refused_because(address)
    if reason is not None:
        raise MailHostRefused(f"the mail server is at {reason}")


def _smtp(settings: Mapping[str, str], host: str, port: int) -> smtplib.SMTP:
    if settings.get("smtp_security", TLS) == TLS:
        context = ssl.create_default_context()
        return smtplib.SMTP_SSL(host, port, timeout=TIMEOUT_S, context=context)
    return smtplib.SMTP(host, port, timeout=TIMEOUT_S)


def _unseen(box: imaplib.IMAP4) -> list[bytes]:
    _, found = box.uid("SEARCH", "UNSEEN")
    return [number for line in found if line for number in line.split()][:MAX_FETCHED]


def _fetched(box: imaplib.IMAP4, number: bytes) -> dict[str, Any] | None:
    """A mail as the mapping reads it; None when it is too large or damaged."""
    _, sizes = box.uid("FETCH", number.decode(), f"(BODY.PEEK[]<0.{MAX_MAIL_BYTES}>)")
    raw = next((part[1] for part in sizes if isinstance(part, tuple)), None)
    if not isinstance(raw, bytes):
        return None
    mail = message_from_bytes(raw, policy=policy.default)
    name, address = parseaddr(str(mail.get("From", "")))
    body = mail.get_body(preferencelist=("plain",))
    try:
        text = "" if body is None else str(body.get_content())
    except (LookupError, ValueError, KeyError):
        text = ""
    return {
        "id": str(mail.get("Message-ID", "")).strip(),
        "from": address.lower(),
        "from_name": name or None,
        "text": _without_quotation(text),
        "in_reply_to": str(mail.get("In-Reply-To", "")).strip() or None,
        "subject": str(mail.get("Subject", "")),
    }


def _without_quotation(text: str) -> str:
    """The text without the quoted mail that it answers, which the channel has."""
    lines = text.replace("\r\n", "\n").split("\n")
    while lines and (not lines[-1].strip() or lines[-1].startswith(">")):
        lines.pop()
    return "\n".join(lines)

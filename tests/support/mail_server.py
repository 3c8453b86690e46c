"""A small mail server that speaks IMAP and SMTP on the wire, for as much as a bridge needs."""

import re
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class MailServer:
    """One mailbox, and what was sent to anybody."""

    user: str = "box@example.org"
    password: str = "letter" + "-opener"
    mails: list[bytes] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)
    sent: list[str] = field(default_factory=list)
    imap_port: int = 0
    smtp_port: int = 0

    def put(self, *, sender: str, text: str, message_id: str, in_reply_to: str = "") -> None:
        """Have a mail in the mailbox."""
        answers = f"In-Reply-To: {in_reply_to}\r\n" if in_reply_to else ""
        mail = (
            f"From: {sender}\r\nMessage-ID: {message_id}\r\n{answers}Subject: Hi\r\n\r\n{text}\r\n"
        )
        self.mails.append(mail.encode())

    def fields(self) -> dict[str, Any]:
        """The settings and credentials of a bridge to this server."""
        return {
            "settings": {
                "imap_host": "127.0.0.1",
                "imap_port": str(self.imap_port),
                "imap_security": "none",
                "imap_user": self.user,
                "smtp_host": "127.0.0.1",
                "smtp_port": str(self.smtp_port),
                "smtp_security": "none",
                "from": "room@example.org",
                "to": "list@example.org",
            },
            "credentials": {"imap_password": self.password},
        }


class Imap(socketserver.StreamRequestHandler):
    """LOGIN, SELECT, UID SEARCH, UID FETCH, UID STORE, LOGOUT."""

    def handle(self) -> None:
        self._say("* OK ready")
        is_open = False
        while line := self.rfile.readline().decode().strip():
            tag, _, rest = line.partition(" ")
            if rest.upper().startswith("LOGIN"):
                is_open = self.box.user in rest and self.box.password in rest
            elif rest.upper().startswith(("UID", "SELECT")) and is_open:
                self._answer(rest.upper().split())
            elif rest.upper().startswith("CAPABILITY"):
                self._say("* CAPABILITY IMAP4rev1")
                self._say(f"{tag} OK done")
                continue
            self._say(f"{tag} {'OK done' if is_open else 'NO log in first'}")

    def _answer(self, words: list[str]) -> None:
        match words:
            case ["SELECT", *_]:
                self._say(f"* {len(self.box.mails)} EXISTS")
            case ["UID", "SEARCH", *_]:
                unseen = (n for n in range(1, len(self.box.mails) + 1) if n not in self.box.seen)
                self._say("* SEARCH " + " ".join(map(str, unseen)))
            case ["UID", "FETCH", number, *_]:
                self._fetch(int(number))
            case ["UID", "STORE", number, *_]:
                self.box.seen.add(int(number))

    @property
    def box(self) -> MailServer:
        server: Any = self.server
        box: MailServer = server.box
        return box

    def _fetch(self, number: int) -> None:
        mail = self.box.mails[number - 1]
        self._say(f"* {number} FETCH (UID {number} BODY[]<0> {{{len(mail)}}}")
        self.wfile.write(mail)
        self._say(")")

    def _say(self, line: str) -> None:
        self.wfile.write(line.encode() + b"\r\n")


class Smtp(socketserver.StreamRequestHandler):
    """EHLO, MAIL, RCPT, DATA, QUIT."""

    def handle(self) -> None:
        self._say("220 ready")
        server: Any = self.server
        while line := self.rfile.readline().decode().strip():
            word = line.upper()
            if word == "DATA":
                self._say("354 go on")
                server.box.sent.append(self._data())
            elif word == "QUIT":
                self._say("221 bye")
                return
            self._say("250 ok")

    def _data(self) -> str:
        lines = []
        while (line := self.rfile.readline().decode()) not in (".\r\n", ""):
            lines.append(re.sub(r"^\.", "", line))
        return "".join(lines)

    def _say(self, line: str) -> None:
        self.wfile.write(line.encode() + b"\r\n")


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    box: MailServer


@contextmanager
def mail_server() -> Iterator[MailServer]:
    """A mail server on two ports of this machine."""
    box = MailServer()
    with _Server(("127.0.0.1", 0), Imap) as imap, _Server(("127.0.0.1", 0), Smtp) as smtp:
        imap.box = smtp.box = box
        box.imap_port, box.smtp_port = imap.server_address[1], smtp.server_address[1]
        for server in (imap, smtp):
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield box
        for server in (imap, smtp):
            server.shutdown()

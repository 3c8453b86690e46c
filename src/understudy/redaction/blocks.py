"""Private keys and signed tokens: known by how they are armoured, whole, cut or encoded."""

import re
from collections.abc import Iterable
from typing import Final

from understudy.redaction.pem import (
    BEGIN,
    BEGIN_TRIGGER,
    BODY,
    END,
    END_TRIGGER,
    GAP,
    key_lines,
    named_lines,
)
from understudy.redaction.rule import Match, Rule, Span, group, whole

_HAS_BODY: Final = re.compile(r"[A-Za-z0-9+/=_-]{12}")
_PEM_LINE: Final = "MIIE" * 8
_JWT: Final = "eyJ" + "hbGciOiJIUzI1NiJ9." + "eyJ" + "zdWIiOiIxMjM0In0." + "c2lnbmF0dXJl"


def _with_body(match: Match) -> Iterable[Span]:
    """A block that holds more than dots."""
    start, end = match.span("body")
    return (match.span(),) if _HAS_BODY.search(match.string, start, end) else ()


BLOCKS: Final = (
    Rule(
        id="pem-private-key",
        kind="private-key",
        trigger=BEGIN_TRIGGER,
        pattern=rf"{BEGIN}(?P<body>(?:[^-]|-[^-]|--[^-]|---[^-]|----[^-]){{0,}}?){END}",
        pick=_with_body,
        matches=(
            "-----BEGIN " + "PRIVATE KEY-----\n" + _PEM_LINE + "\n-----END " + "PRIVATE KEY-----",
            "-----BEGIN " + "RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n" + _PEM_LINE
            + "\n-----END " + "RSA PRIVATE KEY-----",
        ),
        misses=(
            "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
            "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        ),
    ),
    Rule(
        id="pem-private-key-cut",
        kind="private-key",
        trigger=BEGIN_TRIGGER,
        pattern=BEGIN,
        pick=key_lines,
        matches=(
            "-----BEGIN " + "EC PRIVATE KEY-----\n" + _PEM_LINE + "\n" + _PEM_LINE[:20],
            "---- BEGIN " + "SSH2 ENCRYPTED PRIVATE KEY ----\n// " + _PEM_LINE * 2 + "\n// q7",
        ),
        misses=(
            "-----BEGIN CERTIFICATE-----\nMIIB",
            "A file that starts with -----BEGIN PRIVATE KEY----- is one.",
        ),
    ),
    Rule(
        id="pem-private-key-tail",
        kind="private-key",
        trigger=END_TRIGGER,
        pattern=rf"(?:{BODY}{{32,}}{GAP}{{1,16}})+(?:{BODY}{{0,76}}{GAP}{{1,16}})?{END}",
        pick=whole,
        matches=(_PEM_LINE + "\n" + "q9==" + "\n-----END " + "RSA PRIVATE KEY-----",),
        misses=("-----END PRIVATE KEY-----", "-----END CERTIFICATE-----"),
    ),
    Rule(
        id="openssh-key-body",
        kind="private-key",
        trigger="b3BlbnNzaC1rZXktdjE",
        pattern=rf"(?P<secret>b3BlbnNzaC1rZXktdjE{BODY}*)",
        pick=named_lines,
        matches=("b3BlbnNzaC1rZXktdjE" + "AAAA" * 10 + "\n" + _PEM_LINE * 2 + "\nq7",),
        misses=("b3BlbnNza",),
    ),
    Rule(
        id="key-lines",
        kind="private-key",
        trigger=r"(?i)(?:private[ _-]?key|key material|id_rsa|id_ed25519|\.pem\b)[^A-Za-z0-9+/]{1,24}[A-Za-z0-9+/]{40}",
        pattern=rf"(?i)(?:private[ _-]?key|key material|id_rsa|id_ed25519|\.pem\b)[^A-Za-z0-9+/]{{1,24}}(?P<secret>{BODY}{{40,}})",
        pick=named_lines,
        matches=("key material:\n" + _PEM_LINE * 2 + "\n" + _PEM_LINE * 2,),
        misses=("The private key lives in the HSM.",),
    ),
    Rule(
        id="pem-private-key-base64",
        kind="private-key",
        trigger="LS0tLS1CRUdJTi",
        pattern=r"LS0tLS1CRUdJTi(?:BQUklW|BSU0Eg|BFQyBQ|BPUEVOU1NI|BFTkNSW|BEU0Eg|BQR1AgUFJJ)[A-Za-z0-9+/=_-]*",
        pick=whole,
        matches=("LS0tLS1CRUdJTi" + "BSU0EgUFJJVkFURSBLRVktLS0tLQ",),
        misses=("LS0tLS1CRUdJTi" + "BDRVJUSUZJQ0FURS0tLS0t",),
    ),
    Rule(
        id="putty-key",
        kind="private-key",
        trigger=r"Private-(?:Lines|MAC|Hash)",
        pattern=rf"Private-Lines: [0-9]+(?:{GAP}{{1,8}}{BODY}{{4,}})+(?:{GAP}{{1,8}}Private-(?:MAC|Hash): [0-9a-f]+)?",
        pick=whole,
        matches=("Private-Lines: 2\n" + _PEM_LINE + "\n" + _PEM_LINE + "\nPrivate-MAC: a1b2",),
        misses=("Public-Lines: 2\nAAAAB3NzaC1yc2E",),
    ),
    Rule(
        id="jwt",
        kind="jwt",
        trigger="eyJ|ey[A-Z]",
        pattern=r"\beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*){0,3})",
        pick=whole,
        matches=(_JWT, f"token={_JWT};"),
        misses=("eyJ is how such tokens begin", "eyJfoo.bar"),
    ),
    Rule(
        id="jwt-cut",
        kind="jwt",
        trigger="eyJ",
        pattern=r"\beyJ(?:hbGci|0eXAi|raWQi|jdHki|lbmMi|4NXQi)[A-Za-z0-9_-]*\.?",
        pick=whole,
        matches=("eyJ" + "hbGciOiJIUzI1NiJ9...",),
        misses=("eyJpZCI6MTAwfQ==",),
    ),
    Rule(
        id="gcp-key-id",
        kind="secret",
        trigger="private_key_id",
        pattern=r"private_key_id[\"'\\\s:=]{1,12}(?P<secret>[0-9a-f]{16,64})",
        pick=group,
        matches=('"private_key_id": "' + "a1b2c3d4" * 5 + '"',),
        misses=('"private_key_id": ""',),
    ),
    Rule(
        id="hex-private-key",
        kind="private-key",
        trigger=r"(?i)private[ _-]?key",
        pattern=r"(?i)private[ _-]?key[^\n]{0,24}?\b(?P<secret>(?:0x)?[0-9a-f]{64}|[5KL][1-9A-HJ-NP-Za-km-z]{50,51})\b",
        pick=group,
        matches=("private key 0x" + "a1b2c3d4" * 8,),
        misses=("private key fingerprint SHA256:abc",),
    ),
)  # fmt: skip

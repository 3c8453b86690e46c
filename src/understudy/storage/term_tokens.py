"""Terms and scopes as tokens: eight bytes each, whatever is in them."""

import struct
from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

# Keeps a term apart from a scope of the same spelling. Tokens are stored: never change this.
TERM: Final = b"term"
SCOPE: Final = b"scope"
SIZE: Final = 8


def term_token(kind: str, term: str) -> bytes:
    """The token of a term."""
    return _token(TERM, kind, term)


def scope_token(kind: str, scope: str) -> bytes:
    """The token of a scope."""
    return _token(SCOPE, kind, scope)


def packed(kind: str, *, scopes: Iterable[str], terms: Iterable[str]) -> bytes:
    """Everything that an entry is found by, one token after the other, each once."""
    tokens = {
        *(_token(TERM, kind, term) for term in terms),
        *(_token(SCOPE, kind, scope) for scope in scopes),
    }
    return b"".join(sorted(tokens))


def as_words(tokens: bytes) -> str:
    """Packed tokens as words with blanks between them."""
    return tokens.hex(" ", SIZE)


def as_numbers(tokens: bytes) -> tuple[int, ...]:
    """Packed tokens as signed numbers."""
    return struct.unpack(f">{len(tokens) // SIZE}q", tokens)


def _token(use: bytes, kind: str, text: str) -> bytes:
    named = f"{kind} {text}".encode("utf-8", "surrogatepass")
    return blake2b(named, digest_size=SIZE, person=use).digest()

"""FNV-1a, 64 bits: a short number for a text, the same in every program that reckons it."""

from typing import Final

_OFFSET: Final = 0xCBF29CE484222325
_PRIME: Final = 0x100000001B3
_BITS: Final = 64


def fnv1a(data: bytes) -> int:
    """The number, without a sign."""
    number = _OFFSET
    for byte in data:
        number = (number ^ byte) * _PRIME % (1 << _BITS)
    return number


def signed_fnv1a(text: str) -> int:
    """The number of a text with the highest bit read as a sign, as a database takes it."""
    number = fnv1a(text.encode(errors="surrogatepass"))
    return number - (1 << _BITS) if number >> (_BITS - 1) else number

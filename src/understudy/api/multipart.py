"""Multipart forms with files, parsed at once; unknown parts are refused."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header

from understudy.core.errors import coded_error
from understudy.core.pointer import pointer

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

MEDIA_TYPE: Final = "multipart/form-data"


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form; repeated ones are refused."""

    fields: Mapping[str, bytes]

    @property
    def digests(self) -> Mapping[str, str]:
        """A digest of each field: equal forms have equal digests."""
        return {name: hashlib.sha256(data).hexdigest() for name, data in self.fields.items()}


def read_form(content_type: str, body: bytes, known: frozenset[str]) -> Form:
    """Parse a form; `Invalid` for a malformed one or an unknown field."""
    if not body:
        return Form({})
    kind, options = parse_options_header(content_type)
    if kind.decode("latin-1").lower() != MEDIA_TYPE:
        raise coded_error("api/unsupported_media_type:form", media_type=MEDIA_TYPE)
    boundary = options.get(b"boundary")
    reading = _Reading(known)
    try:
        if boundary:
            MultipartParser(boundary, reading.callbacks()).write(body)
    except FormParserError:
        raise coded_error("api/malformed_form", pointer="", media_type=MEDIA_TYPE) from None
    # Without its closing boundary the body is truncated.
    if not reading.is_over:
        raise coded_error("api/malformed_form", pointer="", media_type=MEDIA_TYPE)
    return Form({name: bytes(data) for name, data in reading.fields.items()})


@dataclass(slots=True)
class _Reading:
    """The state of a form that is being parsed."""

    known: frozenset[str]
    fields: dict[str, bytearray] = field(default_factory=dict)
    is_over: bool = False
    header: bytearray = field(default_factory=bytearray)
    value: bytearray = field(default_factory=bytearray)
    disposition: bytes = b""
    current: bytearray = field(default_factory=bytearray)

    def callbacks(self) -> "MultipartCallbacks":
        """The callbacks of the parser."""
        return {
            "on_header_field": lambda data, start, end: self.header.extend(data[start:end]),
            "on_header_value": lambda data, start, end: self.value.extend(data[start:end]),
            "on_header_end": self._end_header,
            "on_headers_finished": self._begin_field,
            "on_part_data": self._add,
            "on_end": self._end,
        }

    def _end_header(self) -> None:
        if bytes(self.header).lower() == b"content-disposition":
            self.disposition = bytes(self.value)
        self.header.clear()
        self.value.clear()

    def _begin_field(self) -> None:
        _, options = parse_options_header(self.disposition)
        name = options.get(b"name", b"").decode(errors="replace")
        if name not in self.known:
            detail = f"there is no such field; known are {', '.join(sorted(self.known))}"
            raise coded_error("api/unknown_field", pointer=pointer([name]), detail=detail)
        if name in self.fields:
            raise coded_error("api/repeated_field", pointer=pointer([name]))
        self.disposition = b""
        self.current = self.fields[name] = bytearray()

    def _add(self, data: bytes, start: int, end: int) -> None:
        self.current.extend(memoryview(data)[start:end])

    def _end(self) -> None:
        self.is_over = True

"""OTLP over HTTP: exports as protobuf or JSON, plain or compressed, as signals; and the answer."""

import base64
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from starlette.responses import Response

from understudy.core.errors import UnderstudyError, coded_error
from understudy.core.strict_json import no_constant
from understudy.foreign.signals import Reported

if TYPE_CHECKING:
    from google.protobuf.message import Message
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

PROTOBUF: Final = "application/x-protobuf"
JSON: Final = "application/json"
MEDIA_TYPES: Final = frozenset({PROTOBUF, JSON})
MAX_BYTES: Final = 16 * 1024 * 1024
# Reading JSON into messages takes some fifty times as long as reading protobuf.
MAX_JSON_BYTES: Final = 4 * 1024 * 1024
# An empty span is two bytes, and takes as long to read as any. Exporters send some hundred at once.
MAX_SIGNALS: Final = 50_000
# More than there can be in a JSON of that size with anything in it.
MAX_JSON_OBJECTS: Final = 200_000
GZIP_BITS: Final = 16 + zlib.MAX_WBITS
MAX_NS: Final = 2**63 - 1
MAX_DEPTH: Final = 16
ERROR: Final = 2
WHY: Final = "without valid ids, nested too deeply, or more than may wait for its trace to end"
# What values of other types than those of an export lead to.
_BROKEN: Final = (ValueError, TypeError, AttributeError, OverflowError, RecursionError)
_IDS: Final = ("traceId", "spanId", "parentSpanId")


class ExportKind(NamedTuple):
    """One kind of export: its messages, how they are read, and how what is refused is called."""

    export: Any
    answer: Any
    signals: Callable[[Any], Iterator[Reported]]
    rejected: str


def read_export(body: bytes, *, media_type: str, encoding: str, into: "Message") -> None:
    """Read the body of an export into its message, or raise `Invalid` or `LimitExceeded`."""
    # Loaded at the first export: it takes a tenth of a second.
    from google.protobuf import json_format
    from google.protobuf.message import DecodeError

    limit = MAX_BYTES if media_type == PROTOBUF else MAX_JSON_BYTES
    body = _plain(body, encoding, limit, media_type)
    try:
        if media_type == PROTOBUF:
            into.ParseFromString(body)
        else:
            _counted(body.count(b"{"), MAX_JSON_OBJECTS)
            export = json.loads(body, parse_constant=no_constant)
            if not isinstance(export, dict):
                raise ValueError
            _encode_ids(export)
            json_format.ParseDict(export, into, ignore_unknown_fields=True)
    except (DecodeError, json_format.Error, *_BROKEN):
        raise _malformed(media_type) from None


def _malformed(media_type: str) -> UnderstudyError:
    return coded_error("api/malformed_export", pointer="", media_type=media_type)


def _plain(body: bytes, encoding: str, limit: int, media_type: str) -> bytes:
    if encoding in ("gzip", "x-gzip"):
        inflate = zlib.decompressobj(GZIP_BITS)
        try:
            body = inflate.decompress(body, limit + 1)
        except zlib.error:
            raise _malformed(media_type) from None
        if len(body) <= limit and not inflate.eof:
            raise _malformed(media_type)
    elif encoding not in ("", "identity"):
        raise coded_error("api/unsupported_media_type:encoding", encoding=encoding[:40])
    if len(body) > limit:
        raise coded_error("api/payload_too_large", limit_bytes=limit)
    return body


def _encode_ids(export: Mapping[str, Any]) -> None:
    """Write the ids of an export as JSON of protobuf has bytes: OTLP has them in hexadecimal."""
    groups = (*export.get("resourceSpans", ()), *export.get("resourceLogs", ()))
    scopes = (
        it for group in groups for it in (*group.get("scopeSpans", ()), *group.get("scopeLogs", ()))
    )
    for scope in scopes:
        for signal in (*scope.get("spans", ()), *scope.get("logRecords", ())):
            for holder in (signal, *signal.get("links", ())):
                for name in (it for it in _IDS if it in holder):
                    holder[name] = base64.b64encode(bytes.fromhex(holder[name])).decode()


def spans_of(export: Any) -> Iterator[Reported]:
    """The spans of an export."""
    for service, scope, span in _each(export.resource_spans, "scope_spans", "spans"):
        failed = span.status.message or "error" if span.status.code == ERROR else None
        yield Reported(
            is_span=True,
            trace_id=span.trace_id.hex(),
            span_id=span.span_id.hex(),
            parent_id=span.parent_span_id.hex(),
            name=span.name,
            scope=scope,
            service=service,
            began_ns=min(span.start_time_unix_nano, MAX_NS),
            ended_ns=min(span.end_time_unix_nano, MAX_NS),
            error=failed,
            attributes=_attributes(span.attributes),
            events=[(it.name, _attributes(it.attributes)) for it in span.events],
        )


def logs_of(export: Any) -> Iterator[Reported]:
    """The log records of an export."""
    for service, scope, log in _each(export.resource_logs, "scope_logs", "log_records"):
        at_ns = min(log.time_unix_nano or log.observed_time_unix_nano, MAX_NS)
        yield Reported(
            trace_id=log.trace_id.hex(),
            span_id=log.span_id.hex(),
            name=log.event_name,
            scope=scope,
            service=service,
            began_ns=at_ns,
            ended_ns=at_ns,
            attributes=_attributes(log.attributes),
            body=_value(log.body),
        )


def _each(groups: Any, scopes: str, signals: str) -> Iterator[tuple[str, str, Any]]:
    """The signals of an export, each with its service and its scope; too many are refused."""
    number = _counted(len(groups))
    for group in groups:
        held, service = getattr(group, scopes), _service(group.resource)
        number = _counted(number + len(held))
        for scope in held:
            number = _counted(number + len(getattr(scope, signals)))
            for signal in getattr(scope, signals):
                number = _counted(number + len(getattr(signal, "events", ())))
                yield service, scope.scope.name, signal


def _counted(number: int, limit: int = MAX_SIGNALS) -> int:
    if number > limit:
        raise coded_error("api/too_many_signals", pointer="", limit=limit)
    return number


def _service(resource: Any) -> str:
    name = _attributes(resource.attributes).get("service.name")
    return name if isinstance(name, str) else ""


def _attributes(pairs: "Sequence[KeyValue]") -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: "AnyValue", depth: int = 0) -> Any:
    kind = value.WhichOneof("value")
    if kind is None or depth > MAX_DEPTH:
        return None
    if kind == "array_value":
        return [_value(each, depth + 1) for each in value.array_value.values]
    if kind == "kvlist_value":
        return {each.key: _value(each.value, depth + 1) for each in value.kvlist_value.values}
    # Bytes are no text of a conversation.
    return None if kind == "bytes_value" else getattr(value, kind)


def is_named(signal: Reported) -> bool:
    """Whether a span has the ids that tell it from others; a log record needs none."""
    ids = (signal.trace_id, signal.span_id)
    is_valid = tuple(map(len, ids)) == (32, 16) and all(it.strip("0") for it in ids)
    return is_valid or not signal.is_span


def answer(kind: ExportKind, *, media_type: str, rejected: int) -> Response:
    """The answer to an export: in its own form, with what was not taken."""
    told = {kind.rejected: str(rejected), "errorMessage": WHY} if rejected else {}
    if media_type == JSON:
        return Response(json.dumps({"partialSuccess": told}), media_type=JSON)
    if rejected:
        from google.protobuf import json_format

        json_format.ParseDict({"partialSuccess": told}, kind.answer)
    return Response(kind.answer.SerializeToString(), media_type=PROTOBUF)

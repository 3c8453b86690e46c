"""OpenTelemetry over HTTP: what is taken, what is refused, and what turns come of it."""

import gzip
import json
import zlib
from collections.abc import Mapping
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from starlette.testclient import TestClient

from tests.api.conftest import ADMIN
from tests.api.live import Live
from tests.api.test_auth import bearer, token
from tests.support.daemon import wait_for
from tests.support.otlp import over
from understudy.api.otlp import MAX_JSON_BYTES, MAX_JSON_OBJECTS, MAX_SIGNALS
from understudy.daemon.wiring import Daemon
from understudy.foreign.hooks import MAX_TEXT_CHARS
from understudy.foreign.otlp import MAX_WAITING_BYTES

TRACES, LOGS = "/otlp/v1/traces", "/otlp/v1/logs"
PROTOBUF, JSON = "application/x-protobuf", "application/json"
TRACE = "ab" * 16
ASKED = [{"role": "user", "parts": [{"type": "text", "content": "I indent with tabs."}]}]
SAID = [{"role": "assistant", "parts": [{"type": "text", "content": "Noted."}]}]
AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "talk"}
CHAT = {
    "gen_ai.operation.name": "chat",
    "gen_ai.input.messages": json.dumps(ASKED),
    "gen_ai.output.messages": json.dumps(SAID),
}
TOOL = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "read_file",
    "gen_ai.tool.call.result": "Deploy on Mondays.",
}


def pairs(attributes: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]


def span(number: int, of: Mapping[str, str], parent: int = 1, trace: str = TRACE) -> dict[str, Any]:
    return {
        "traceId": trace,
        "spanId": f"{number:016x}",
        **({} if number == 1 else {"parentSpanId": f"{parent:016x}"}),
        "startTimeUnixNano": f"{number * 10}",
        "endTimeUnixNano": "999" if number == 1 else f"{number * 10 + 5}",
        "attributes": pairs(of),
    }


def export(*spans: Mapping[str, Any]) -> dict[str, Any]:
    service = {"attributes": pairs({"service.name": "bot"})}
    return {"resourceSpans": [{"resource": service, "scopeSpans": [{"spans": spans}]}]}


def event(name: str, at: int, **attributes: str) -> dict[str, Any]:
    named = {"session.id": "talk", "prompt.id": "p1", **attributes}
    return {
        "timeUnixNano": f"{at}",
        "body": {"stringValue": f"claude_code.{name}"},
        "attributes": pairs(named),
    }


def events(*records: Mapping[str, Any]) -> dict[str, Any]:
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}


def send(api: TestClient, *spans: Mapping[str, Any]) -> dict[str, Any]:
    answer = api.post(TRACES, json=export(*spans))
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()["partialSuccess"]
    return told


def runs(api: TestClient) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = api.get("/v1/runs").json()["items"]
    return listed


WHOLE = (span(3, CHAT), span(2, TOOL), span(1, AGENT))


@pytest.mark.parametrize("turn", [0, 1, 2])
def test_spans_in_any_order_and_request_are_one_turn(
    api: TestClient, daemon: Daemon, turn: int
) -> None:
    for each in (*WHOLE[turn:], *WHOLE[:turn], WHOLE[0]):
        assert send(api, each) == {}
        over(daemon.services, after_ms=0)
    assert runs(api) == []

    over(daemon.services)
    send(api, *WHOLE)
    over(daemon.services)

    (run,) = runs(api)
    assert run["request"]["text_preview"] == "I indent with tabs."
    assert run["request"]["source_plugin"] == "otlp.bot"
    assert (run["kind"], run["status"]) == ("foreign_turn", "completed")


def test_a_trace_is_read_soon_after_its_root_and_late_without_one(
    api: TestClient, daemon: Daemon
) -> None:
    send(api, span(3, CHAT))
    over(daemon.services, after_ms=30_000)
    assert runs(api) == []

    send(api, span(1, AGENT))
    over(daemon.services, after_ms=30_000)
    assert len(runs(api)) == 1


def test_what_comes_late_is_a_further_run_and_taints_the_one_before(
    api: TestClient, daemon: Daemon
) -> None:
    send(api, span(1, AGENT), span(3, CHAT))
    over(daemon.services)
    (first,) = runs(api)
    send(api, span(2, TOOL | {"gen_ai.conversation.id": "talk"}), span(3, CHAT))
    over(daemon.services)

    (late,) = (it for it in runs(api) if it["run_id"] != first["run_id"])
    assert late["session_id"] == first["session_id"]
    assert "text_preview" not in late["request"]
    with daemon.resources.units.read() as unit:
        assert unit.runs.taints(first["run_id"]) == {"tool_result": ["read_file"]}


def test_words_that_come_late_are_typed_in_the_later_run(api: TestClient, daemon: Daemon) -> None:
    send(api, span(1, AGENT), span(2, TOOL))
    over(daemon.services)
    send(api, span(3, CHAT | {"gen_ai.conversation.id": "talk"}))
    over(daemon.services)

    previews = [it["request"].get("text_preview", "") for it in runs(api)]
    assert sorted(previews) == ["", "I indent with tabs."]


def test_events_of_a_coding_agent_are_a_turn(api: TestClient, daemon: Daemon) -> None:
    body = events(
        event("assistant_response", 3, response="Noted."),
        event("user_prompt", 1, prompt="I indent with tabs."),
        event("tool_result", 2, tool_name="Bash", success="true"),
    )
    for _ in range(2):
        assert api.post(LOGS, json=body).json() == {"partialSuccess": {}}
        over(daemon.services, after_ms=30_000)

    (run,) = runs(api)
    assert run["agent_id"] == "claude-code"
    assert run["usage"]["tool_calls"] == 1


def test_users_do_not_share_traces(guarded: TestClient) -> None:
    daemon = guarded.app.state.services  # type: ignore[attr-defined]
    for user_id in ("ann", "ben"):
        of = token(guarded, "client", user_id)
        assert guarded.post(TRACES, json=export(*WHOLE), headers=of).status_code == 200
    over(daemon)

    listed = guarded.get("/v1/runs", headers=bearer(ADMIN)).json()["items"]
    assert len({it["session_id"] for it in listed}) == 2


def test_protobuf_is_answered_with_protobuf(api: TestClient) -> None:
    for path, request, response in (
        (TRACES, ExportTraceServiceRequest(), ExportTraceServiceResponse()),
        (LOGS, ExportLogsServiceRequest(), ExportLogsServiceResponse()),
    ):
        headers = {"Content-Type": PROTOBUF, "Content-Encoding": "gzip"}
        body = gzip.compress(request.SerializeToString())
        answer = api.post(path, content=body, headers=headers)

        assert (answer.status_code, answer.headers["content-type"]) == (200, PROTOBUF)
        response.ParseFromString(answer.content)
        assert not response.HasField("partial_success")


@pytest.mark.parametrize("ids", [{"traceId": ""}, {"traceId": "00" * 16}, {"spanId": "abcd"}])
def test_a_span_without_valid_ids_is_refused_alone(
    api: TestClient, daemon: Daemon, ids: dict[str, str]
) -> None:
    told = send(api, *WHOLE, span(4, CHAT) | ids)
    over(daemon.services)

    assert told["rejectedSpans"] == "1"
    assert "ids" in told["errorMessage"]
    assert len(runs(api)) == 1


def test_what_is_refused_of_protobuf_is_told_in_protobuf(api: TestClient) -> None:
    request = ExportTraceServiceRequest()
    request.resource_spans.add().scope_spans.add().spans.add(trace_id=b"short")
    headers = {"Content-Type": PROTOBUF}
    answer = api.post(TRACES, content=request.SerializeToString(), headers=headers)

    told = ExportTraceServiceResponse.FromString(answer.content).partial_success
    assert told.rejected_spans == 1


def test_no_more_waits_than_there_is_room_for(api: TestClient) -> None:
    number = MAX_WAITING_BYTES // MAX_TEXT_CHARS // 2 + 4
    refused = []
    for trace in (b"1", b"2", b"3"):
        request = ExportTraceServiceRequest()
        spans = request.resource_spans.add().scope_spans.add().spans
        for at in range(number):
            each = spans.add(trace_id=trace * 16, span_id=bytes([at + 1]) * 8)
            each.attributes.add(key="openinference.span.kind").value.string_value = "LLM"
            each.attributes.add(key="input.value").value.string_value = "x" * MAX_TEXT_CHARS
        body = gzip.compress(request.SerializeToString())
        headers = {"Content-Type": PROTOBUF, "Content-Encoding": "gzip"}
        answer = api.post(TRACES, content=body, headers=headers)
        told = ExportTraceServiceResponse.FromString(answer.content).partial_success
        refused.append(told.rejected_spans)

    assert refused[0] == 0
    assert 0 < refused[1] < number
    assert refused[2] == number


SPANS = ExportTraceServiceRequest()
SPANS.resource_spans.add().scope_spans.add().spans.extend([Span()] * MAX_SIGNALS)
BOMB = gzip.compress(b" " * (MAX_JSON_BYTES * 40))
BAD: dict[str, tuple[bytes, dict[str, str], int]] = {
    "no JSON": (b"{", {"Content-Type": JSON}, 400),
    "no object": (b"[]", {"Content-Type": JSON}, 400),
    "nothing": (b"", {"Content-Type": JSON}, 400),
    "not a number": (b'{"resourceSpans": NaN}', {"Content-Type": JSON}, 400),
    "deep": (b"[" * 100_000, {"Content-Type": JSON}, 400),
    "other types": (b'{"resourceSpans": 7}', {"Content-Type": JSON}, 400),
    "other types within": (b'{"resourceSpans": [7]}', {"Content-Type": JSON}, 400),
    "no ids": (json.dumps(export(span(1, {}) | {"traceId": "xyz"})).encode(), {"Content-Type": JSON}, 400),
    "half a character": (b'{"resourceSpans": [{"schemaUrl": "\\ud800"}]}', {"Content-Type": JSON}, 400),
    "no protobuf": (b"\xff\xff", {"Content-Type": PROTOBUF}, 400),
    "no gzip": (b"{}", {"Content-Type": JSON, "Content-Encoding": "gzip"}, 400),
    "half a gzip": (gzip.compress(b"{}")[:-9], {"Content-Type": JSON, "Content-Encoding": "gzip"}, 400),
    "another encoding": (b"{}", {"Content-Type": JSON, "Content-Encoding": "br"}, 415),
    "plain deflate": (zlib.compress(b"{}"), {"Content-Type": JSON, "Content-Encoding": "gzip"}, 400),
    "another type": (b"{}", {"Content-Type": "text/plain"}, 415),
    "no type": (b"{}", {}, 415),
    "too many": (SPANS.SerializeToString(), {"Content-Type": PROTOBUF}, 400),
    "too many in JSON": (b'{"resourceSpans": [%s{}]}' % (b"{}," * MAX_JSON_OBJECTS), {"Content-Type": JSON}, 400),
    "a bomb": (BOMB, {"Content-Type": JSON, "Content-Encoding": "gzip"}, 413),
    "too long": (b" " * (MAX_JSON_BYTES + 1), {"Content-Type": JSON}, 413),
}  # fmt: skip


@pytest.mark.parametrize("path", [TRACES, LOGS])
@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_a_bad_body_is_refused_and_changes_nothing(
    api: TestClient, path: str, bad: tuple[bytes, dict[str, str], int]
) -> None:
    body, headers, status = bad
    if path == LOGS and b"Spans" in body:
        body = body.replace(b"resourceSpans", b"resourceLogs").replace(b"scopeSpans", b"scopeLogs")
        body = body.replace(b'"spans"', b'"logRecords"')
    answer = api.post(path, content=body, headers=headers)

    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert runs(api) == []


def test_only_who_has_a_token_may_send(guarded: TestClient) -> None:
    for headers in ({}, bearer("wrong")):
        answer = guarded.post(TRACES, json=export(*WHOLE), headers=headers)
        assert answer.status_code == 401
    viewer = token(guarded, "viewer")
    assert guarded.post(TRACES, json=export(*WHOLE), headers=viewer).status_code == 403


def test_the_official_exporter_leaves_a_turn(live: Live) -> None:
    live.model.queue('{"candidates": []}')
    exporter = OTLPSpanExporter(endpoint=f"{live.client.base_url}{TRACES}")
    provider = TracerProvider(resource=Resource.create({"service.name": "exported"}))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("bot")
    with tracer.start_as_current_span("invoke_agent bot", attributes=AGENT):
        with tracer.start_as_current_span("execute_tool read_file", attributes=TOOL):
            pass
        with tracer.start_as_current_span("chat m-1", attributes=CHAT):
            pass
    provider.shutdown()

    def recorded() -> dict[str, Any] | None:
        found = live.ok("GET", "/v1/runs")["items"]
        return next((it for it in found if it["agent_id"] == "otlp.exported"), None)

    run = wait_for(recorded, what="the trace to be a turn")
    assert run["request"]["text_preview"] == "I indent with tabs."
    assert run["usage"]["tool_calls"] == 1

"""Spans of our own runs, as a receiver of OpenTelemetry gets them."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.api.live import CONFIG, Live, live_daemon
from tests.support.receiver import Receiver
from understudy.testing.answers import call

OTEL = '[otel]\nendpoint = "{to}"\ncontent = {content}\n'
TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
HEADER = {"traceparent": f"00-{TRACE}-{CALLER}-01"}
SECRET = "sk-" + "proj-" + "abc123def456ghi789jkl012"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


def config(receiver: Receiver, *, content: bool = False) -> str:
    address = receiver.url.partition("/hook")[0]
    return CONFIG + OTEL.format(to=address, content=str(content).lower())


def exported(receiver: Receiver) -> dict[str, Any]:
    """The spans that came, by name."""
    spans: dict[str, Any] = {}
    for request in receiver.requests:
        assert request.path == "/v1/traces"
        export = ExportTraceServiceRequest.FromString(request.body)
        for group in export.resource_spans:
            spans |= {it.name: it for scope in group.scope_spans for it in scope.spans}
    return spans


def attributes(span: Any) -> dict[str, Any]:
    return {it.key: getattr(it.value, str(it.value.WhichOneof("value"))) for it in span.attributes}


def run_with_a_tool(live: Live, text: str = "Which port?") -> dict[str, Any]:
    (live.daemon.settings.workspace / "a.txt").write_text(f"port = 8080, key {SECRET}")
    live.model.queue(call("read_file", {"path": "a.txt"}), "It is 8080.")
    live.session("s1")
    body = {"content": text}
    sent = live.ok("POST", "/v1/sessions/s1/runs", body, headers=HEADER)
    return live.finished(sent["run_id"])


def test_a_run_is_a_trace_of_its_agent_its_model_and_its_tools(
    tmp_path: Path, receiver: Receiver
) -> None:
    with live_daemon(tmp_path / "home", config=config(receiver)) as live:
        live.ok("POST", "/v1/learnings", {"content": "The port is 8080", "kind": "fact"})
        run = run_with_a_tool(live)

    spans = exported(receiver)
    assert set(spans) == {
        "invoke_agent default",
        "search_memory",
        "chat fake-1",
        "execute_tool read_file",
    }
    agent, tool = spans["invoke_agent default"], spans["execute_tool read_file"]
    assert {it.trace_id.hex() for it in spans.values()} == {TRACE}
    assert agent.parent_span_id.hex() == CALLER
    assert {it.parent_span_id for it in spans.values() if it is not agent} == {agent.span_id}
    for each in spans.values():
        assert agent.start_time_unix_nano <= each.start_time_unix_nano
        assert each.start_time_unix_nano <= each.end_time_unix_nano <= agent.end_time_unix_nano
    said = attributes(agent)
    assert said["gen_ai.operation.name"] == "invoke_agent"
    assert said["gen_ai.conversation.id"] == "s1"
    assert said["understudy.run.id"] == run["run_id"]
    assert said["gen_ai.usage.input_tokens"] == run["usage"]["input_tokens"]
    assert attributes(tool)["gen_ai.tool.name"] == "read_file"
    assert attributes(spans["search_memory"])["gen_ai.memory.record.count"] == 1


def test_a_trace_is_taken_in_and_passed_on(tmp_path: Path, receiver: Receiver) -> None:
    with live_daemon(tmp_path / "home", config=config(receiver)) as live:
        run = run_with_a_tool(live)
        sent = [request.headers.get("traceparent") for request in live.model.requests]

    agent = exported(receiver)["invoke_agent default"]
    assert run["request"]["traceparent"] == HEADER["traceparent"]
    assert set(sent) == {f"00-{TRACE}-{agent.span_id.hex()}-01"}


@pytest.mark.parametrize("content", [False, True])
def test_what_was_said_is_exported_only_if_wanted_and_without_secrets(
    tmp_path: Path, receiver: Receiver, content: bool
) -> None:
    with live_daemon(tmp_path / "home", config=config(receiver, content=content)) as live:
        run_with_a_tool(live, text=f"Which port? The key is {SECRET}.")

    everything = b"".join(request.body for request in receiver.requests)
    for words in (b"Which port?", b"It is 8080.", b"port = 8080"):
        assert (words in everything) == content
    assert SECRET.encode() not in everything


def test_without_an_endpoint_nothing_is_sent_and_a_given_trace_is_passed_on(
    tmp_path: Path, receiver: Receiver
) -> None:
    with live_daemon(tmp_path / "home") as live:
        run_with_a_tool(live)
        given = [request.headers.get("traceparent") for request in live.model.requests]
        live.model.queue("Hello.")
        live.run("s1", "Hello")
        all_of_them = [request.headers.get("traceparent") for request in live.model.requests]

    assert set(given) == {HEADER["traceparent"]}
    assert set(all_of_them[len(given) :]) == {None}
    assert receiver.requests == []


def test_a_receiver_that_is_away_holds_up_no_run(tmp_path: Path) -> None:
    gone = Receiver()
    with gone:
        address = gone.url
    away = CONFIG + OTEL.format(to=address.partition("/hook")[0], content="false")
    with live_daemon(tmp_path / "home", config=away) as live:
        assert run_with_a_tool(live)["status"] == "completed"


def test_nothing_of_it_is_loaded_where_it_is_off() -> None:
    code = (
        "import sys, understudy.daemon.wiring, understudy.api.app; "
        "print([m for m in sys.modules if m.startswith(('opentelemetry.sdk', 'opentelemetry.proto', "
        "'opentelemetry.exporter', 'google.protobuf'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert json.loads(done.stdout.replace("'", '"')) == []

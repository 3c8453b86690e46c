"""An agent of pydantic-ai emits OpenTelemetry; what its user says waits here for review.

Offline and by itself: it starts a daemon in a folder of its own, the agent's model is a function, and
it prints what becomes of the conversation. `python examples/traced_agent.py`
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from pydantic_ai import Agent
from pydantic_ai.capabilities import Instrumentation
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.instrumented import InstrumentationSettings

ASKED = "Which port do we use? Preference: Answer in one sentence."


def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Look into the file, then answer."""
    if len(messages) == 1:
        return ModelResponse(parts=[ToolCallPart("read_file", {"path": "ports.txt"})])
    return ModelResponse(parts=[TextPart("It is 8443.")])


def main() -> None:
    """Run the agent under a daemon of its own."""
    with tempfile.TemporaryDirectory() as made:
        port = free_port()
        daemon = start(Path(made), port)
        try:
            trace_an_agent(f"http://127.0.0.1:{port}/otlp/v1/traces")
            show(f"http://127.0.0.1:{port}")
        finally:
            daemon.terminate()
            daemon.wait()


def trace_an_agent(endpoint: str) -> None:
    """What a program with an agent does: two lines of OpenTelemetry, and the agent as it was."""
    provider = TracerProvider(resource=Resource.create({"service.name": "port-bot"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
    settings = InstrumentationSettings(tracer_provider=provider)
    agent = Agent(FunctionModel(model), name="ports", capabilities=[Instrumentation(settings)])

    @agent.tool_plain
    def read_file(path: str) -> str:
        """Read a file."""
        return "staging: 8443"

    print(f"agent: {agent.run_sync(ASKED).output}")
    provider.shutdown()


def show(url: str) -> None:
    """Print the turn, and what waits for a person."""
    run = wait_for(lambda: items(f"{url}/v1/runs"))[0]
    print(f"turn of {run['agent_id']}: {run['request']['text_preview']}")
    print(f"tools: {run['usage']['tool_calls']}")
    path = f"{url}/v1/learning-candidates?state=pending&kind=preference"
    (candidate,) = wait_for(lambda: items(path))
    print(f"waits for review: {candidate['content']}")


def items(url: str) -> list[dict[str, Any]]:
    """The records of a list."""
    with urllib.request.urlopen(url) as answer:
        found: list[dict[str, Any]] = json.load(answer)["items"]
        return found


def wait_for(ask: Any) -> Any:
    """The answer, once there is one."""
    for _ in range(600):
        try:
            if found := ask():
                return found
        except urllib.error.URLError:
            pass
        time.sleep(0.1)
    raise SystemExit("nothing came")


def start(home: Path, port: int) -> "subprocess.Popen[bytes]":
    """A daemon that needs no model."""
    command = [sys.executable, "-m", "understudy.cli.main", "serve"]
    # Neither a database nor a model of yours.
    yours = ("UNDERSTUDY_", "OPENAI_", "ANTHROPIC_")
    environment = {name: it for name, it in os.environ.items() if not name.startswith(yours)}
    environment["UNDERSTUDY_HOME"] = str(home)
    with (home / "daemon.log").open("wb") as log:
        daemon = subprocess.Popen(
            [*command, "--bind", f"127.0.0.1:{port}"], env=environment, stdout=log, stderr=log
        )
    wait_for(lambda: urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz").read())
    return daemon


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        number: int = listener.getsockname()[1]
        return number


if __name__ == "__main__":
    main()

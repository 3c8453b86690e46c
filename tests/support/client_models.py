"""Models for real coding agents: the Anthropic and the OpenAI wire, each streamed, with a log.

`python client_models.py PORT LOG FOLDER`. The last words of the user choose the tool that is called:
"remember" writes FOLDER/MEMORY.md, "read" reads FOLDER/notes.txt, "search" calls `memory_search`.
Everything else, and every result of a tool, is answered with a text.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ANSWER = "That is done."
MEMORY = "- the user likes tabs\n"
Call = tuple[str, dict[str, Any]] | None


class Models(BaseHTTPRequestHandler):
    """Answers one request of a client."""

    protocol_version = "HTTP/1.1"
    log: Path
    folder: Path

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the base
        """Nothing on stderr."""

    def do_HEAD(self) -> None:
        self._send(b"")

    def do_GET(self) -> None:
        self._send(json.dumps({"object": "list", "data": []}).encode())

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        asked = json.loads(raw or b"{}")
        path = self.path.partition("?")[0]
        with self.log.open("a") as log:
            log.write(json.dumps({"path": path, "body": asked}) + "\n")
        if path.endswith("/messages"):
            self._stream(_messages(asked, self.folder))
        elif path.endswith("/responses"):
            self._stream(_responses(asked, self.folder))
        else:
            self._send(b'{"input_tokens": 10}')

    def _stream(self, events: Iterator[dict[str, Any]]) -> None:
        text = "".join(f"event: {it['type']}\ndata: {json.dumps(it)}\n\n" for it in events)
        self._send(text.encode(), "text/event-stream")

    def _send(self, body: bytes, kind: str = "application/json") -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _messages(asked: Mapping[str, Any], folder: Path) -> Iterator[dict[str, Any]]:
    """The events of an answer of Anthropic's API."""
    blocks: list[dict[str, Any]] = []
    for each in asked["messages"]:
        content = each["content"]
        # What came before an answer was dealt with in it.
        kept = blocks if each["role"] != "assistant" else []
        blocks = [
            *kept,
            *([{"type": "text", "text": content}] if isinstance(content, str) else content),
        ]
    answered = any(block["type"] == "tool_result" for block in blocks)
    said = " ".join(block.get("text", "") for block in blocks)
    names = [tool["name"] for tool in asked.get("tools", ())]
    call = None if answered else _claude_call(said, names, folder)
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    usage = {"input_tokens": 10, "output_tokens": 5}
    yield {"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}}
    if call is None:
        block: dict[str, Any] = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": ANSWER}
    else:
        number = f"toolu_{len(asked['messages'])}"
        block = {"type": "tool_use", "id": number, "name": call[0], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    reason = "end_turn" if call is None else "tool_use"
    yield {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}
    yield {"type": "message_stop"}


def _claude_call(said: str, names: list[str], folder: Path) -> Call:
    memory = {"file_path": f"{folder}/MEMORY.md", "content": MEMORY}
    search = next((name for name in names if name.endswith("memory_search")), "")
    wanted: dict[str, Call] = {
        "remember": ("Write", memory),
        "read": ("Read", {"file_path": f"{folder}/notes.txt"}),
        "search": (search, {"query": "deploy"}),
    }
    call = next((it for word, it in wanted.items() if f"please {word}" in said), None)
    return call if call is not None and call[0] in names else None


def _responses(asked: Mapping[str, Any], folder: Path) -> Iterator[dict[str, Any]]:
    """The events of an answer of OpenAI's Responses API."""
    items = asked["input"]
    last_user = max(n for n, it in enumerate(items) if it.get("role") == "user")
    said = " ".join(part.get("text", "") for part in items[last_user]["content"])
    answered = any(it["type"].endswith("call_output") for it in items[last_user:])
    call = None if answered else _codex_call(said, asked.get("tools", ()), folder)
    if call is None:
        part = {"type": "output_text", "text": ANSWER, "annotations": []}
        item: dict[str, Any] = {"type": "message", "role": "assistant", "content": [part]}
    else:
        name, given = call
        space = {"namespace": given.pop("namespace")} if "namespace" in given else {}
        item = {"type": "function_call", "call_id": "call_1", "name": name, **space}
        item["arguments"] = json.dumps(given)
    item["id"] = f"item_{len(items)}"
    made = {"id": f"resp_{len(items)}", "object": "response", "created_at": 1, "model": "m"}
    counts = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    yield {"type": "response.created", "response": {**made, "status": "in_progress", "output": []}}
    yield {"type": "response.output_item.added", "output_index": 0, "item": item}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    ended = {**made, "status": "completed", "output": [item], "usage": counts}
    yield {"type": "response.completed", "response": ended}


def _codex_call(said: str, tools: list[Mapping[str, Any]], folder: Path) -> Call:
    commands = {
        "please remember": f"echo '{MEMORY.strip()}' > {folder}/MEMORY.md",
        "please read": f"cat {folder}/notes.txt",
    }
    names = {tool.get("name") for tool in tools}
    for words, command in commands.items():
        if words in said:
            shell = next(it for it in ("exec_command", "shell_command") if it in names)
            return shell, {"cmd" if shell == "exec_command" else "command": command}
    found = next((it for it in tools if "memory_search" in json.dumps(it)), None)
    if "please search" not in said or found is None:
        return None
    if found["type"] == "namespace":
        return "memory_search", {"query": "deploy", "namespace": found["name"]}
    return str(found["name"]), {"query": "deploy"}


if __name__ == "__main__":
    port, log, folder = sys.argv[1:]
    Models.log, Models.folder = Path(log), Path(folder)
    ThreadingHTTPServer(("127.0.0.1", int(port)), Models).serve_forever()

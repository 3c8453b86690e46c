"""Transcripts of coding agents, line by line as their programs write them."""

import json
from typing import Any

TALK = "5f0c3a52-2f0f-4a3e-9f39-0f1f6a0c9d11"
AT = "2026-11-19T03:28:19.874Z"


def lines(*found: Any) -> str:
    return "".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in found)


class Claude:
    """Lines of Claude Code."""

    @staticmethod
    def line(kind: str, **fields: Any) -> dict[str, Any]:
        of = {"isSidechain": False, "uuid": "u", "parentUuid": None, "version": "2.1.327"}
        return {"type": kind, "sessionId": TALK, "timestamp": AT, **of, **fields}

    @classmethod
    def user(cls, content: Any, **fields: Any) -> dict[str, Any]:
        said = {"role": "user", "content": content}
        named = {"promptSource": "typed", "turnOrigin": "human"}
        return cls.line("user", message=said, **{**named, **fields})

    @classmethod
    def agent(cls, *blocks: Any) -> dict[str, Any]:
        content = [{"type": "text", "text": it} if isinstance(it, str) else it for it in blocks]
        said = {"role": "assistant", "model": "claude-opus-5-5", "content": content}
        return cls.line("assistant", message=said)

    @classmethod
    def hook_context(cls, text: str) -> dict[str, Any]:
        attached = {"type": "hook_additional_context", "content": [text]}
        return cls.line("attachment", attachment=attached)

    @classmethod
    def call(cls, name: str, given: dict[str, Any], result: str) -> tuple[Any, Any]:
        use = {"type": "tool_use", "id": f"toolu_{name}", "name": name, "input": given}
        back = {"type": "tool_result", "tool_use_id": f"toolu_{name}", "content": result}
        answer = {"role": "user", "content": [back]}
        return cls.agent(use), cls.line("user", message=answer, toolUseResult=result)


class Codex:
    """Lines of Codex."""

    @staticmethod
    def line(kind: str, **payload: Any) -> dict[str, Any]:
        return {"timestamp": AT, "ordinal": 0, "type": kind, "payload": payload}

    @classmethod
    def start(cls, **fields: Any) -> dict[str, Any]:
        return cls.line("session_meta", id=TALK, session_id=TALK, source="exec", **fields)

    @classmethod
    def message(cls, role: str, text: str) -> dict[str, Any]:
        kind = "output_text" if role == "assistant" else "input_text"
        content = [{"type": kind, "text": text}]
        return cls.line("response_item", type="message", role=role, content=content)

    @classmethod
    def user(cls, text: str) -> tuple[Any, Any]:
        item = {"type": "UserMessage", "content": [{"type": "text", "text": text}]}
        typed = cls.line("event_msg", type="item_completed", thread_id=TALK, item=item)
        return cls.message("user", text), typed

    @classmethod
    def call(cls, name: str, given: dict[str, Any], result: str) -> tuple[Any, Any]:
        asked = {"name": name, "arguments": json.dumps(given), "call_id": f"call_{name}"}
        back = {"call_id": f"call_{name}", "output": result}
        return (
            cls.line("response_item", type="function_call", **asked),
            cls.line("response_item", type="function_call_output", **back),
        )

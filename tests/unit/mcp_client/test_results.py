"""What a server answered, as text."""

from typing import Any

import pytest
from mcp_types import CallToolResult

from understudy.mcp_client.tool import MAX_RESULT_CHARS, NOTHING, result_text


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def result(*content: dict[str, Any], **more: Any) -> CallToolResult:
    return CallToolResult.model_validate({"content": list(content), **more})


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (result(text("a"), text("b")), "a\nb"),
        (result(), NOTHING),
        (result(text("")), NOTHING),
        (result(text("a\x1b[31mb\u202ec\td")), "a [31mb c\td"),
        (result(structuredContent={"a": "é"}), '{"a": "é"}'),
        (result(text('{"a": 1}'), structuredContent={"a": 1}), '{"a": 1}'),
        (result(text("five"), structuredContent={"result": "five"}), "five"),
        (result(text("see below"), structuredContent={"a": 1}), 'see below\n{"a": 1}'),
        (
            result(text("look:"), {"type": "image", "data": "AAAA", "mimeType": "image/png"}),
            "look:\n[image, image/png, 3 bytes, not shown]",
        ),
        (
            result({"type": "audio", "data": "AAA=", "mimeType": "audio/wav"}),
            "[audio, audio/wav, 2 bytes, not shown]",
        ),
        (
            result({"type": "resource_link", "name": "n", "uri": "file:///a\u202e"}),
            "[a link: file:///a]",
        ),
        (
            result({"type": "resource", "resource": {"uri": "mem://x", "text": "inside"}}),
            "[mem://x]\ninside",
        ),
        (
            result({"type": "resource", "resource": {"uri": "mem://x", "blob": "AAAA"}}),
            "[mem://x, not shown]",
        ),
    ],
)
def test_all_parts_become_text(answer: CallToolResult, said: str) -> None:
    assert result_text(answer) == said


def test_a_long_answer_is_cut_and_says_so() -> None:
    said = result_text(result(text("x" * (MAX_RESULT_CHARS + 7))))

    assert said.endswith(f"x\n[cut: {MAX_RESULT_CHARS + 7} characters in all]")
    assert len(said) < MAX_RESULT_CHARS + 100

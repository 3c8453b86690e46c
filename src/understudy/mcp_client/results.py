"""What a server's tool answered, as text for a model."""

import json
from typing import TYPE_CHECKING, Any, Final

from understudy.mcp_client.text import one_line

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock

MAX_RESULT_CHARS: Final = 1024 * 1024
MAX_ADDRESS_CHARS: Final = 500
NOTHING: Final = "(the tool answered nothing)"


def result_text(result: "CallToolResult") -> str:
    """All parts in order; what is no text is mentioned."""
    parts = [_part(block) for block in result.content]
    structured = result.structured_content
    if structured is not None and not _is_said(parts, structured):
        parts.append(json.dumps(structured, ensure_ascii=False))
    return bounded("\n".join(part for part in parts if part)) or NOTHING


def bounded(text: str) -> str:
    """The text, or the beginning of it and a word about the rest."""
    if len(text) <= MAX_RESULT_CHARS:
        return text
    return f"{text[:MAX_RESULT_CHARS]}\n[cut: {len(text)} characters in all]"


def _is_said(parts: list[str], structured: Any) -> bool:
    """Servers often say as text what they also give as data."""
    if len(parts) != 1:
        return False
    # The Python library puts a result that is no object into one.
    if structured == {"result": parts[0]}:
        return True
    try:
        return bool(json.loads(parts[0]) == structured)
    except (ValueError, RecursionError):
        return False


def _part(block: "ContentBlock") -> str:
    match block.type:
        case "text":
            return block.text
        case "image" | "audio":
            size = len(block.data.rstrip("=")) * 3 // 4
            return f"[{block.type}, {one_line(block.mime_type, 100)}, {size} bytes, not shown]"
        case "resource_link":
            return f"[a link: {one_line(str(block.uri), MAX_ADDRESS_CHARS)}]"
        case "resource":
            return _resource(block.resource)


def _resource(resource: Any) -> str:
    address = one_line(str(resource.uri), MAX_ADDRESS_CHARS)
    text = getattr(resource, "text", None)
    return f"[{address}, not shown]" if text is None else f"[{address}]\n{text}"

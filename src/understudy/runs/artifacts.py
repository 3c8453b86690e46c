"""What a tool answered in full, where the model was shown only a part of it."""

from dataclasses import dataclass
from typing import Annotated, Final

from understudy.core.ids import new_id
from understudy.core.records import HIDDEN

MAX_ARTIFACT_CHARS: Final = 8 * 1024 * 1024
# What the model is shown of a long answer: its beginning and its end.
MAX_SHOWN_CHARS: Final = 32 * 1024
END_CHARS: Final = 8 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """The whole answer of one tool call."""

    artifact_id: str
    run_id: str
    tool_name: str
    size: int  # in bytes
    created_at_ms: int
    call_key: Annotated[str, HIDDEN] = ""
    content: Annotated[str, HIDDEN] = ""


def cut(content: str, artifact_id: str) -> str:
    """What the model is shown of an answer that is too long."""
    start = content[: MAX_SHOWN_CHARS - END_CHARS]
    note = f"[cut: {len(content)} characters in all; the whole is artifact {artifact_id}]"
    return f"{start}\n{note}\n{content[-END_CHARS:]}"


def new_artifact(
    content: str, *, run_id: str, call_key: str, tool_name: str, at_ms: int
) -> Artifact:
    """An artifact of this content, as far as one may be long."""
    content = content[:MAX_ARTIFACT_CHARS]
    return Artifact(
        artifact_id=new_id("art"),
        run_id=run_id,
        call_key=call_key,
        tool_name=tool_name,
        size=len(content.encode(errors="replace")),
        created_at_ms=at_ms,
        content=content,
    )

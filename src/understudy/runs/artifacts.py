"""Artifacts: the full answers of tools, and the captures and input files that have ids as well."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from understudy.assets.contents import AssetContent, read_asset
from understudy.assets.media import MediaKind, kind_of
from understudy.core.errors import coded_error
from understudy.core.ids import new_id
from understudy.core.records import HIDDEN
from understudy.runs.model import DebugRequest, Run
from understudy.tools.base import Approval, Effect, ToolContext, ToolError, in_thread

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

MAX_ARTIFACT_CHARS: Final = 8 * 1024 * 1024
# The model is shown the beginning and the end of a long answer.
MAX_SHOWN_CHARS: Final = 32 * 1024
END_CHARS: Final = 8 * 1024
MAX_READ_CHARS = MAX_SHOWN_CHARS - 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """The full answer of one tool call."""

    artifact_id: str
    run_id: str
    tool_name: str
    size: int  # in bytes
    created_at_ms: int
    call_key: Annotated[str, HIDDEN] = ""
    content: Annotated[str, HIDDEN] = ""


def cut(content: str, artifact_id: str) -> str:
    """The shortened answer for the model, with a note that names the artifact."""
    start = content[: MAX_SHOWN_CHARS - END_CHARS]
    note = f"[cut: {len(content)} characters in all; the whole is artifact {artifact_id}]"
    return f"{start}\n{note}\n{content[-END_CHARS:]}"


def new_artifact(
    content: str, *, run_id: str, call_key: str, tool_name: str, at_ms: int
) -> Artifact:
    """An artifact with this content, cut to the maximum length."""
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


Opened = Artifact | DebugRequest | AssetContent


def find_artifact(unit: "Unit", run: Run, artifact_id: str) -> Opened | None:
    """A tool result, a captured request or an input file of a run, by its id."""
    found = unit.artifacts.get(run.run_id, artifact_id) or unit.debug.get(run.run_id, artifact_id)
    if found is None and any(item.asset_id == artifact_id for item in run.input.items):
        return read_asset(unit, artifact_id)
    return found


def artifact_text(found: Opened) -> str | None:
    """The text of an artifact; None for a binary file."""
    if isinstance(found, Artifact):
        return found.content
    if isinstance(found, DebugRequest):
        kept = {"request": found.request, "response": found.response}
        return json.dumps(kept, ensure_ascii=False, indent=2)
    is_text = kind_of(found.asset.media_type) is MediaKind.TEXT
    return found.data.decode(errors="replace") if is_text else None


class ReadArtifactParameters(BaseModel):
    """Which part of which artifact."""

    model_config = ConfigDict(extra="forbid")

    artifact_id: str = Field(max_length=200)
    offset: int = Field(default=0, ge=0, description="where to begin, in characters")
    length: int = Field(default=MAX_READ_CHARS, ge=1, le=MAX_READ_CHARS)


class ReadArtifact:
    """Reads a part of an artifact of this session."""

    name = "read_artifact"
    description = "Read a part of a tool's long answer, by the artifact id its note names."
    effect = Effect.READ
    approval = Approval.NEVER
    parameters: type[BaseModel] = ReadArtifactParameters

    def __init__(self, units: "Units") -> None:
        self._units = units

    async def call(self, arguments: ReadArtifactParameters, context: ToolContext) -> str:
        """The requested part, and the total length."""
        content = await in_thread(self._content, context.session_id, arguments.artifact_id)
        part = content[arguments.offset : arguments.offset + arguments.length]
        end = arguments.offset + len(part)
        return f"[characters {arguments.offset} to {end} of {len(content)}]\n{part}"

    def _content(self, session_id: str, artifact_id: str) -> str:
        with self._units.read() as unit:
            found = unit.artifacts.in_session(session_id, artifact_id)
        if found is None:
            raise ToolError(
                coded_error("runs/artifact_not_found", artifact_id=artifact_id).detail,
                code="artifact_not_found",
            )
        return found.content

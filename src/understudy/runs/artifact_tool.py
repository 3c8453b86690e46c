"""The tool by which an agent reads on in what it was shown only a part of."""

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from understudy.core.errors import coded_error
from understudy.runs.artifacts import MAX_SHOWN_CHARS
from understudy.tools.base import Approval, Effect, ToolContext, ToolError, in_thread

if TYPE_CHECKING:
    from understudy.storage.unit import Units

MAX_READ_CHARS = MAX_SHOWN_CHARS - 1024


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
        """The part asked for, and what there is in all."""
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

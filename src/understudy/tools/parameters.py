"""What the parameters of the built-in tools have in common."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

PathText = Annotated[str, Field(description="Path relative to the workspace, with '/' separators.")]


class Parameters(BaseModel):
    """Parameters that nobody changes and that take no unknown names."""

    model_config = ConfigDict(extra="forbid", frozen=True)

"""Generation settings of model calls."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from understudy.wire.base import Int32, RequestBody


def _word_or_words(value: Any) -> Any:
    """Refuse other types first, so that one mistake gives one error."""
    if not isinstance(value, str | list):
        raise PydanticCustomError("stop_type", "must be text or a list of texts")
    return value


Stop = Annotated[str | list[str], BeforeValidator(_word_or_words)]


class Generation(RequestBody):
    """Settings of model calls; an omitted or null one takes the route's own."""

    model: str | None = Field(default=None, max_length=500, pattern=r"\S")
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, ge=0, le=1)
    max_tokens: Int32 | None = Field(default=None, ge=1)
    seed: int | None = None
    stop: Stop | None = None

    def settings(self) -> dict[str, Any]:
        """The settings that were given."""
        return self.model_dump(exclude_none=True)

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
    """Another model of the same provider."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """The sampling temperature."""
    top_p: float | None = Field(default=None, ge=0, le=1)
    """The share of probability that is sampled from."""
    max_tokens: Int32 | None = Field(default=None, ge=1)
    """The most tokens of an answer."""
    seed: int | None = None
    """The seed of the sampling, where a provider takes one."""
    stop: Stop | None = None
    """One text, or several, that end an answer."""

    def settings(self) -> dict[str, Any]:
        """The settings that were given."""
        return self.model_dump(exclude_none=True)

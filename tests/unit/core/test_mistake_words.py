"""Mistakes are told in our words, whatever library found them."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from understudy.core.mistakes import WORDS, words_of


class Order(BaseModel):
    """Something with fields of many kinds."""

    model_config = ConfigDict(extra="forbid", strict=True)
    name: Annotated[str, Field(min_length=2, max_length=4, pattern="^[a-z]+$")] = "ab"
    count: Annotated[int, Field(ge=1, le=9)] = 1
    share: Annotated[float, Field(gt=0, lt=1)] = 0.5
    kind: Literal["big", "small"] = "big"
    tags: Annotated[list[str], Field(max_length=1)] = Field(default_factory=list)
    more: dict[str, str] = Field(default_factory=dict)
    sure: bool = True
    odd: int = 1

    @field_validator("odd")
    @classmethod
    def _odd(cls, value: int) -> int:
        if value % 2 == 0:
            raise ValueError("must be odd")
        return value


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"name": 5}, "must be text"),
        ({"name": "a"}, "must have at least 2 characters"),
        ({"name": "abcde"}, "must have at most 4 characters"),
        ({"name": "A1"}, "must match ^[a-z]+$"),
        ({"count": "1"}, "must be a whole number"),
        ({"count": 0}, "must be at least 1"),
        ({"count": 10}, "must be at most 9"),
        ({"share": 0.0}, "must be more than 0.0"),
        ({"share": 1.0}, "must be less than 1.0"),
        ({"kind": "tiny"}, "must be 'big' or 'small'"),
        ({"tags": "a"}, "must be a list"),
        ({"tags": ["a", "b"]}, "must have at most 1 entries"),
        ({"more": 5}, "must be an object"),
        ({"sure": 1}, "must be true or false"),
        ({"other": 1}, "is not a field here"),
        ({"odd": 2}, "must be odd"),
    ],
)
def test_a_mistake_says_what_is_right(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Order.model_validate(given)
    assert [words_of(each) for each in caught.value.errors()] == [words]


def test_the_words_of_the_library_are_nowhere_in_ours() -> None:
    assert not [text for text in WORDS.values() if "Input" in text or "should" in text]

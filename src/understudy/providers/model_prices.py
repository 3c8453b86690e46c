"""Prices of models: configured for the route, listed by model name, or unknown."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final

from understudy.providers.model_windows import Tokens, names_of, tokens_of
from understudy.settings import RouteConfig

MILLION: Final = 1_000_000
# The fewest digits of a date or build suffix: `gpt-4o-2024`, `claude-3-haiku-20240307`.
DATE_DIGITS: Final = 4


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """US dollars per million tokens."""

    input: float
    output: float

    def cost(self, *, input_tokens: int, output_tokens: int) -> float:
        """The cost of some tokens, rounded to a millionth of a dollar."""
        return round((self.input * input_tokens + self.output * output_tokens) / MILLION, 6)


def price_of(route: RouteConfig | None, model: str) -> ModelPrice | None:
    """The price of a model on a route: configured for the route's own model, else listed."""
    if route is not None and route.model == model and route.price is not None:
        return ModelPrice(*route.price)
    return listed_price(model)


@lru_cache(maxsize=256)
def listed_price(model: str) -> ModelPrice | None:
    """The list price of a model by its name; None if it is not in the table."""
    prices = _prices()
    found = (prices.get(_without_date(name)) for name in names_of(model))
    return next((price for price in found if price is not None), None)


def _without_date(name: Tokens) -> Tokens:
    """The name without a date, build or `latest` suffix, and with `4.1` as 4, 1."""
    parts = tuple(part for token in name for part in token.split("."))
    dates = (place for place, part in enumerate(parts) if _is_build(part))
    end = next(dates, len(parts))
    # Months and days follow a year; any other word makes it another model.
    is_plain = all(_is_build(part) or part.isdecimal() for part in parts[end:])
    return parts[:end] if is_plain else parts


def _is_build(part: str) -> bool:
    return part == "latest" or (part.isdecimal() and len(part) >= DATE_DIGITS)


@cache
def _prices() -> Mapping[Tokens, ModelPrice]:
    text = files("understudy.providers").joinpath("model_prices.toml").read_text("utf-8")
    return {
        _without_date(tokens_of(model)): ModelPrice(*price)
        for maker in tomllib.loads(text).values()
        for model, price in maker["prices"].items()
    }

"""Prices of models: as the route says, by the name of the model, or not known."""

import datetime
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from understudy.providers.model_prices import ModelPrice, listed_price, price_of
from understudy.settings import Flags, RouteConfig, SettingsError, load_settings

TABLE = tomllib.loads(
    files("understudy.providers").joinpath("model_prices.toml").read_text("utf-8")
)


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("gpt-4o", (2.50, 10.00)),
        ("gpt-4o-mini-2024-07-18", (0.15, 0.60)),
        ("openai/GPT-4.1-mini", (0.40, 1.60)),
        ("claude-3-5-sonnet-latest", (3.00, 15.00)),
        ("claude-opus-4-20250514", (15.00, 75.00)),
        ("claude-opus-4-5", (5.00, 25.00)),
        ("anthropic/claude-opus-4.5", (5.00, 25.00)),
    ],
)
def test_a_model_is_priced_by_its_name_whatever_its_date(
    model: str, price: tuple[float, float]
) -> None:
    assert listed_price(model) == ModelPrice(*price)


@pytest.mark.parametrize(
    "model",
    ["scripted", "", "gpt", "gpt-4o-audio", "gpt-5.9", "claude-opus-4-9", "my-gpt-4o", "latest"],
)
def test_a_model_that_is_not_in_the_table_has_no_price(model: str) -> None:
    assert listed_price(model) is None


def test_each_maker_says_where_its_prices_are_from_and_of_which_day() -> None:
    for maker in TABLE.values():
        assert maker["source"].startswith("https://")
        assert datetime.date.fromisoformat(maker["as_of"]).year >= 2025
        assert all(0 <= low <= high for low, high in maker["prices"].values())


def test_a_route_overrides_the_price_of_its_own_model_alone() -> None:
    route = RouteConfig(provider="openai", model="gpt-4o", input_price=0, output_price=0.5)
    assert price_of(route, "gpt-4o") == ModelPrice(0, 0.5)
    assert price_of(route, "gpt-4o-mini") == listed_price("gpt-4o-mini")
    assert price_of(None, "gpt-4o") == listed_price("gpt-4o")


def test_the_cost_counts_input_and_output() -> None:
    assert ModelPrice(2, 10).cost(input_tokens=500_000, output_tokens=1) == 1.00001


@pytest.mark.parametrize(
    ("line", "said"),
    [("input_price = 1.0", "set both or neither"), ("input_price = -1.0", "input_price")],
)
def test_half_a_price_and_a_negative_one_are_refused(tmp_path: Path, line: str, said: str) -> None:
    text = f'[routes.a]\nprovider = "openai"\nmodel = "m"\n{line}\n'
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(SettingsError, match=said):
        load_settings(Flags(home=tmp_path), {})

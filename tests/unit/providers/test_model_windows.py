"""Context windows: known by the family of a model, configured for a route, or assumed."""

import datetime
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from understudy.providers.model_windows import DEFAULT_WINDOW, context_window, known_window
from understudy.providers.registry import Routes
from understudy.settings import Flags, load_settings

TABLE = tomllib.loads(
    files("understudy.providers").joinpath("model_windows.toml").read_text("utf-8")
)


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("gpt-3.5-turbo", 16_385),
        ("gpt-4", 8_192),
        ("gpt-4-0613", 8_192),
        ("gpt-4-32k-0314", 32_768),
        ("gpt-4-turbo-2024-04-09", 128_000),
        ("gpt-4o-mini-2024-07-18", 128_000),
        ("openai/gpt-4.1-mini", 1_047_576),
        ("ft:gpt-4o-mini-2024-07-18:acme::abc123", 128_000),
        ("GPT-5", 400_000),
        ("o1-mini", 128_000),
        ("o3-mini-2025-01-31", 200_000),
        ("claude-3-5-sonnet-20241022", 200_000),
        ("anthropic.claude-sonnet-4-20250514-v1:0", 200_000),
        ("openrouter/anthropic/claude-3.7-sonnet", 200_000),
        ("models/gemini-1.5-pro-latest", 2_097_152),
        ("gemini-2.5-flash", 1_048_576),
        ("meta-llama/Meta-Llama-3.1-8B-Instruct", 131_072),
        ("meta-llama/Llama-3.1-8B-Instruct", 131_072),
        ("llama3:8b", 8_192),
        ("llama3.2:latest", 131_072),
        ("Qwen/Qwen2.5-Coder-32B-Instruct", 32_768),
        ("qwen3:4b", 32_768),
        ("deepseek-chat", 128_000),
        ("gemma3:1b", 32_768),
        ("gemma-2-9b-it", 8_192),
        ("phi3:mini", 4_096),
        ("Phi-3-mini-128k-instruct", 131_072),
        ("command-r-plus-08-2024", 128_000),
        ("scripted", 1_000_000),
    ],
)
def test_the_longest_family_that_a_name_begins_with_decides(model: str, window: int) -> None:
    assert known_window(model) == window


@pytest.mark.parametrize("model", ["m", "", "my-gpt-4-clone", "gpt-45", "gpt", "/:@.", "é" * 9])
def test_a_name_of_no_family_gets_the_default(model: str) -> None:
    found = context_window(model)

    assert (found.tokens, found.source) == (DEFAULT_WINDOW, "default")


def test_a_name_of_any_length_is_looked_up_at_once() -> None:
    assert known_window("a:1." * 250_000) is None


@pytest.mark.parametrize("maker", TABLE)
def test_each_maker_says_where_its_windows_are_from_and_of_when(maker: str) -> None:
    assert TABLE[maker]["source"]
    assert datetime.date.fromisoformat(TABLE[maker]["as_of"]) <= datetime.date(2026, 12, 31)
    assert all(window >= 1_000 for window in TABLE[maker]["windows"].values())


def test_a_route_has_its_own_models_window_and_a_run_that_of_its_model(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(
        '[routes.a]\nprovider = "openai"\nmodel = "gpt-4o"\nbase_url = "http://127.0.0.1:1"\n'
        '[routes.b]\nprovider = "openai"\nmodel = "mine"\nbase_url = "http://127.0.0.1:1"\n'
        "context_window = 9000\n"
    )
    routes = Routes(load_settings(Flags(home=tmp_path), {}))

    shown = [(it.context_window, str(it.context_window_source)) for it in routes.all()]
    assert shown == [(128_000, "known"), (9000, "configured")]
    assert routes.window("a", "gpt-3.5-turbo").tokens == 16_385
    assert routes.window("a", "other").tokens == DEFAULT_WINDOW
    assert routes.window("b", "gpt-4o").tokens == 128_000
    # The server of the route answers for a model that nobody knows.
    assert routes.window("b", "other").tokens == 9000
    assert routes.window("gone", "gpt-4o").tokens == 128_000

"""Routes: made once, when needed, and never showing a key."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.providers.asks import KEY, complete
from understudy.core.errors import NotFound
from understudy.providers.base import ProviderError
from understudy.providers.registry import Routes
from understudy.settings import Flags, load_settings
from understudy.testing.fake_model import FakeModel


def make_routes(home: Path, config: str = "", **environment: str) -> Routes:
    (home / "config.toml").write_text(config)
    return Routes(load_settings(Flags(home=home), environment))


async def test_with_no_key_the_offline_route_answers(tmp_path: Path) -> None:
    routes = make_routes(tmp_path)
    assert routes.describe()[0].ready
    assert "offline" in (await complete(routes.get("scripted"))).text
    await routes.close()


async def test_a_route_reaches_its_server_with_its_key(tmp_path: Path, fake: FakeModel) -> None:
    routes = make_routes(tmp_path, OPENAI_API_KEY=f"{KEY}\n", OPENAI_BASE_URL=f"{fake.url}/v1")
    assert (await complete(routes.get("openai"))).text == "ok"
    assert fake.requests[0].path == "/v1/chat/completions"
    assert fake.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert routes.get("openai") is routes.get("openai")
    await routes.close()


async def test_an_anthropic_route_speaks_the_other_wire(tmp_path: Path, fake: FakeModel) -> None:
    routes = make_routes(tmp_path, ANTHROPIC_API_KEY=KEY, ANTHROPIC_BASE_URL=fake.url)
    assert (await complete(routes.get("anthropic"))).text == "ok"
    assert fake.requests[0].path.startswith("/v1/messages")
    await routes.close()


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ('provider = "openai"\napi_key_env = "MY_KEY"', "MY_KEY is not set"),
        ('provider = "openai"', "api_key_env is not set"),
        ('provider = "openai"\nbase_url = "localhost:1"', "base_url must begin with http"),
        ('provider = "anthropic"\napi_key_env = "ODD"', "ODD does not hold a key"),
        ('provider = "scripted"\nscript = "none.toml"', "none.toml cannot be read"),
    ],
)
async def test_a_route_that_cannot_work_says_what_is_missing(
    tmp_path: Path, config: str, reason: str
) -> None:
    routes = make_routes(tmp_path, f"[routes.main]\n{config}", ODD="two words")
    (view,) = routes.describe()
    assert not view.ready
    assert reason in view.reason
    assert routes.readiness("main").reason == view.reason
    with pytest.raises(ProviderError, match="not ready") as caught:
        routes.get("main")
    assert not caught.value.retryable


async def test_a_local_server_needs_no_key(tmp_path: Path, fake: FakeModel) -> None:
    config = f'[routes.main]\nprovider = "openai"\nmodel = "m"\nbase_url = "{fake.url}"'
    routes = make_routes(tmp_path, config)
    assert (await complete(routes.get("main"))).text == "ok"
    await routes.close()


async def test_a_script_is_found_beside_the_config_file(tmp_path: Path) -> None:
    (tmp_path / "talk.toml").write_text('[[reply]]\ntext = "scripted words"')
    routes = make_routes(tmp_path, '[routes.main]\nprovider = "scripted"\nscript = "talk.toml"')
    assert (await complete(routes.get("main"))).text == "scripted words"


def test_an_unknown_route_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="scripted"):
        make_routes(tmp_path).get("nowhere")


def test_descriptions_show_neither_key_nor_password(tmp_path: Path) -> None:
    config = (
        '[routes.main]\nprovider = "openai"\nmodel = "m"\napi_key_env = "MY_KEY"\n'
        f'base_url = "http://me:{KEY}@127.0.0.1:1/v1?key={KEY}"\ncontext_window = 1000'
    )
    (view,) = make_routes(tmp_path, config, MY_KEY=KEY).describe()
    assert view.ready
    assert view.base_url == "http://127.0.0.1:1/v1"
    assert view.context_window == 1000
    assert KEY not in repr(view)


def test_the_registry_loads_no_provider_library_before_a_route_needs_it() -> None:
    code = (
        "import sys, understudy.providers.registry as _;"
        "print(sorted({'httpx2', 'pydantic_ai', 'openai', 'anthropic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

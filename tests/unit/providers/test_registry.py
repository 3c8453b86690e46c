"""Routes: made once, when needed, and never showing a key."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tests.unit.providers.asks import KEY, complete
from understudy.core.errors import NotFound
from understudy.providers import registry
from understudy.providers.base import Provider, ProviderError
from understudy.providers.registry import Routes
from understudy.providers.scripted import ScriptedProvider
from understudy.settings import Flags, RouteConfig, load_settings
from understudy.testing.answers import Answer
from understudy.testing.fake_model import FakeModel


def make_routes(home: Path, config: str = "", **environment: str) -> Routes:
    (home / "config.toml").write_text(config)
    return Routes(load_settings(Flags(home=home), environment))


async def test_with_no_key_the_offline_route_answers(tmp_path: Path) -> None:
    routes = make_routes(tmp_path)
    assert routes.all()[0].ready
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
        ('provider = "openai"\nmodel = "m"\napi_key_env = "MY_KEY"', "MY_KEY is not set"),
        ('provider = "openai"\nmodel = "m"', "api_key_env is not set"),
        (
            'provider = "openai"\nmodel = "m"\nbase_url = "localhost:1"',
            "base_url must begin with http",
        ),
        *(
            (
                f'provider = "openai"\nmodel = "m"\nbase_url = "http://{host}/v1"',
                "base_url has no valid host and port",
            )
            for host in ("", ":80", "h:99999", "h:0", "[::1", "a..b", "a" * 70)
        ),
        ('provider = "anthropic"\nmodel = "m"\napi_key_env = "ODD"', "ODD does not hold a key"),
        ('provider = "scripted"\nscript = "none.toml"', "none.toml cannot be read"),
    ],
)
async def test_a_route_that_cannot_work_says_what_is_missing(
    tmp_path: Path, config: str, reason: str
) -> None:
    routes = make_routes(tmp_path, f"[routes.main]\n{config}", ODD="two words")
    (view,) = routes.all()
    assert not view.ready
    assert reason in str(view.reason)
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
    (view,) = make_routes(tmp_path, config, MY_KEY=KEY).all()
    assert view.ready
    assert view.base_url == "http://127.0.0.1:1/v1"
    assert (view.context_window, view.context_window_source) == (1000, "configured")
    assert KEY not in repr(view)


def test_the_registry_loads_no_provider_library_before_a_route_needs_it() -> None:
    code = (
        "import sys, understudy.providers.registry as _;"
        "print(sorted({'aiohttp', 'httpx2', 'pydantic_ai', 'openai', 'anthropic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_what_a_provider_says_in_an_error_is_scrubbed(
    tmp_path: Path, fake: FakeModel, provider: str
) -> None:
    config = f'[routes.main]\nprovider = "{provider}"\nmodel = "m"\nbase_url = "{fake.url}"'
    (tmp_path / "config.toml").write_text(config)
    settings = load_settings(Flags(home=tmp_path), {})
    routes = Routes(settings, scrub=lambda text: text.replace("hunter22", "***"))
    fake.queue(Answer(status=400, error="no hunter22 here"))
    with pytest.raises(ProviderError, match=r"no \*\*\* here"):
        await complete(routes.get("main"))
    await routes.close()


# Warming up


async def test_warming_up_makes_the_providers_of_ready_routes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_notes(monkeypatch)
    config = (
        '[routes.dead]\nprovider = "openai"\nmodel = "m"\napi_key_env = "NOT_SET"\n'
        '[routes.a]\nprovider = "openai"\nmodel = "m"\nbase_url = "http://127.0.0.1:1"\n'
        '[routes.b]\nprovider = "anthropic"\nmodel = "m"\nbase_url = "http://127.0.0.1:1"\n'
    )
    routes = make_routes(tmp_path, config)
    routes.warm()
    assert made == ["openai", "anthropic"]
    routes.get("a")
    assert made == ["openai", "anthropic"]
    await routes.close()


async def test_a_failure_to_warm_up_is_logged_and_left_to_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def explode(*_: object) -> Provider:
        raise ImportError("no such library")

    monkeypatch.setattr(registry, "_make", explode)
    routes = make_routes(tmp_path)
    with capture_logs() as logs:
        routes.warm()
    assert [(line["event"], line["route_id"]) for line in logs] == [
        ("route.warm_up_failed", "scripted")
    ]
    assert "no such library" in logs[0]["reason"]
    with pytest.raises(ImportError):
        routes.get("scripted")


async def test_after_the_end_nothing_is_warmed_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_notes(monkeypatch)
    routes = make_routes(tmp_path)
    await routes.close()
    routes.warm()
    assert made == []


def test_a_route_that_takes_long_to_make_keeps_no_other_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def make(route: RouteConfig, *_: object) -> Provider:
        if route.model == "slow":
            begun.set()
            go_on.wait(10)
        return ScriptedProvider()

    monkeypatch.setattr(registry, "_make", make)
    config = "".join(
        f'[routes.{name}]\nprovider = "scripted"\nmodel = "{name}"\n' for name in ("slow", "fast")
    )
    routes = make_routes(tmp_path, config)
    thread = threading.Thread(target=routes.warm)
    thread.start()
    try:
        assert begun.wait(10)
        other = threading.Thread(target=routes.get, args=("fast",))
        other.start()
        other.join(5)
        assert not other.is_alive()
    finally:
        go_on.set()
        thread.join()


def make_notes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    made: list[str] = []

    def make(route: RouteConfig, *_: object) -> Provider:
        made.append(route.provider)
        return ScriptedProvider()

    monkeypatch.setattr(registry, "_make", make)
    return made

"""Where each setting comes from, and what is said about a bad one."""

from pathlib import Path
from typing import Any

import pytest

from understudy.settings import (
    DEFAULT_BIND,
    Flags,
    Settings,
    SettingsError,
    client_settings,
    load_settings,
)
from understudy.settings.load import OFFLINE_ROUTE

ROUTE = '[routes.main]\nprovider = "openai"\nmodel = "m"\n'


class Load:
    """Loads settings from a home of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def __call__(
        self, config: str = "", env: dict[str, str] | None = None, **flags: Any
    ) -> Settings:
        if config:
            (self.home / "config.toml").write_text(config)
        return load_settings(Flags(home=self.home, **flags), env or {})

    def problem(self, config: str = "", env: dict[str, str] | None = None, **flags: Any) -> str:
        with pytest.raises(SettingsError) as refused:
            self(config, env, **flags)
        message = str(refused.value)
        assert "\n" not in message
        return message


@pytest.fixture
def load(tmp_path: Path) -> Load:
    return Load(tmp_path)


def test_with_nothing_given_the_daemon_is_local_offline_and_on_sqlite(load: Load) -> None:
    settings = load()

    assert f"{settings.host}:{settings.port}" == DEFAULT_BIND
    assert settings.database_url == f"sqlite:///{load.home}/understudy.db"
    assert settings.workspace == load.home / "workspace"
    assert settings.default_route == OFFLINE_ROUTE
    assert settings.routes[OFFLINE_ROUTE].provider == "scripted"
    assert settings.is_offline
    assert settings.is_loopback
    assert settings.is_sqlite
    assert settings.admin_token is None


def test_a_flag_beats_the_environment_which_beats_the_file(load: Load) -> None:
    config = 'bind = "127.0.0.1:1"\n'
    env = {"UNDERSTUDY_BIND": "127.0.0.1:2"}

    by_file = load(config)
    by_env = load(config, env)
    by_flag = load(config, env, bind="127.0.0.1:3")

    assert [s.port for s in (by_file, by_env, by_flag)] == [1, 2, 3]
    assert [s.sources["bind"] for s in (by_file, by_env, by_flag)] == [
        "file",
        "environment",
        "flag",
    ]
    assert load().sources["bind"] == "file"  # the file of before is still there


@pytest.mark.parametrize(("name", "scheme"), [("database_url", "sqlite:///"), ("workspace", "")])
def test_every_source_can_set_it(load: Load, name: str, scheme: str) -> None:
    by_file, by_env, by_flag = (f"{scheme}{load.home}/{where}" for where in ("a", "b", "c"))
    config, env = f'{name} = "{by_file}"\n', {f"UNDERSTUDY_{name.upper()}": by_env}

    found = [load(config), load(config, env), load(config, env, **{name: by_flag})]

    assert [str(getattr(settings, name)) for settings in found] == [by_file, by_env, by_flag]


def test_an_empty_variable_counts_as_none(load: Load) -> None:
    settings = load(env={"UNDERSTUDY_BIND": "", "OPENAI_API_KEY": "", "UNDERSTUDY_ADMIN_TOKEN": ""})

    assert settings.sources["bind"] == "default"
    assert settings.is_offline
    assert settings.admin_token is None


def test_the_home_may_come_from_the_environment(tmp_path: Path) -> None:
    settings = load_settings(Flags(), {"UNDERSTUDY_HOME": str(tmp_path)})

    assert settings.home == tmp_path
    assert settings.config_file == tmp_path / "config.toml"


def test_the_config_file_may_be_elsewhere(load: Load, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text(ROUTE)

    by_flag = load_settings(Flags(home=load.home, config=other), {})
    by_env = load_settings(Flags(home=load.home), {"UNDERSTUDY_CONFIG": str(other)})

    assert list(by_flag.routes) == list(by_env.routes) == ["main"]


def test_a_named_config_file_must_exist(load: Load) -> None:
    with pytest.raises(SettingsError, match="does not exist"):
        load_settings(Flags(home=load.home, config=load.home / "missing.toml"), {})


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ("colour = 1", "colour"),
        ("[routes.a]\n", "routes.a.provider"),
        ('[routes.a]\nprovider = "pigeon"\n', "routes.a.provider"),
        ('[routes.a]\nprovider = "openai"\nmodel = ""\n', "routes.a.model"),
        ('[routes.a]\nprovider = "openai"\n', "routes.a.model: is missing"),
        ('defualt_route = "a"\n', "defualt_route: is not a setting; did you mean default_route?"),
        (
            '[routes.a]\nprovider = "openai"\nmodel = "m"\ncontext_window = 0\n',
            "routes.a.context_window",
        ),
        (
            '[routes.a]\nprovider = "openai"\nmodel = "m"\nmax_attempts = 99\n',
            "routes.a.max_attempts",
        ),
        (
            '[routes.a]\nprovider = "openai"\nmodel = "m"\naccepts = ["sound"]\n',
            "routes.a.accepts",
        ),
        ('[routes.a]\nprovider = "openai"\nmodel = "m"\nkey = "sk-1"\n', "routes.a.key"),
        ("max_active_steps = 0", "max_active_steps"),
        ('debug_level = "loud"', "debug_level"),
        ('log_level = "loud"', "log_level"),
        ("history_retention_hours = 0", "history_retention_hours"),
        (
            ROUTE + '\n[routes.b]\nprovider = "openai"\nmodel = "m"\ntimeout_s = -1\n',
            "routes.b.timeout_s",
        ),
        ('default_route = "nowhere"\n' + ROUTE, "default_route"),
        ('bind = "here"', "bind"),
        ('database_url = "mysql://x"', "database_url"),
    ],
)
def test_a_bad_config_names_the_key(load: Load, config: str, named: str) -> None:
    assert named in load.problem(config)


def test_a_secret_in_a_bad_config_is_not_repeated(load: Load) -> None:
    assert "sk-1" not in load.problem(
        '[routes.a]\nprovider = "openai"\nmodel = "m"\nkey = "sk-1"\n'
    )


def test_a_config_that_is_no_toml_is_said_to_be_none(load: Load) -> None:
    assert "not valid TOML" in load.problem("= broken")


def test_a_config_that_is_no_text_cannot_be_read(load: Load) -> None:
    (load.home / "config.toml").write_bytes(b"\xff\xfe\x00")

    assert "cannot be read" in load.problem()


def test_a_config_that_is_a_directory_cannot_be_read(load: Load) -> None:
    (load.home / "config.toml").mkdir()

    assert "cannot be read" in load.problem()


@pytest.mark.parametrize(
    ("lines", "accepted"),
    [
        ('provider = "openai"\nmodel = "m"', {"image", "document"}),
        ('provider = "anthropic"\nmodel = "m"', {"image", "document"}),
        ('provider = "scripted"', set()),
        ('provider = "openai"\nmodel = "m"\naccepts = ["image"]', {"image"}),
        ('provider = "openai"\nmodel = "m"\naccepts = []', set()),
    ],
)
def test_a_route_takes_the_files_of_its_wire_unless_told_otherwise(
    load: Load, lines: str, accepted: set[str]
) -> None:
    assert load(f"[routes.a]\n{lines}\n").routes["a"].accepted == accepted


def test_routes_of_the_file_are_the_routes_and_the_first_is_the_default(load: Load) -> None:
    more = '[routes.second]\nprovider = "anthropic"\nmodel = "c"\n'

    settings = load(ROUTE + more, {"OPENAI_API_KEY": "sk-x"})

    assert list(settings.routes) == ["main", "second"]
    assert settings.default_route == "main"
    assert not settings.is_offline
    assert load('default_route = "second"\n' + ROUTE + more).default_route == "second"


def test_an_openai_key_makes_the_route_openai(load: Load) -> None:
    settings = load(
        env={
            "OPENAI_API_KEY": "sk-x",
            "OPENAI_BASE_URL": "http://here/v1",
            "UNDERSTUDY_MODEL": "big",
        }
    )

    route = settings.routes["openai"]
    assert list(settings.routes) == ["openai"]
    assert (route.provider, route.model, route.base_url) == ("openai", "big", "http://here/v1")
    assert settings.api_key(route) == "sk-x"
    assert settings.default_route == "openai"
    assert not settings.is_offline


def test_an_anthropic_key_makes_the_route_anthropic(load: Load) -> None:
    settings = load(env={"ANTHROPIC_API_KEY": "ak-x", "UNDERSTUDY_MODEL": "c"})

    assert list(settings.routes) == ["anthropic"]
    assert settings.routes["anthropic"].model == "c"


def test_both_keys_make_both_routes_and_the_model_is_the_first_ones(load: Load) -> None:
    settings = load(env={"OPENAI_API_KEY": "a", "ANTHROPIC_API_KEY": "b", "UNDERSTUDY_MODEL": "m"})

    assert list(settings.routes) == ["openai", "anthropic"]
    assert settings.routes["openai"].model == "m"
    assert settings.routes["anthropic"].model != "m"
    assert settings.default_route == "openai"


def test_the_key_of_a_route_is_read_from_the_variable_its_config_names(load: Load) -> None:
    config = ROUTE + 'api_key_env = "MY_KEY"\n'

    settings = load(config, {"MY_KEY": "s3cret"})

    assert settings.api_key(settings.routes["main"]) == "s3cret"
    assert load(config).api_key(settings.routes["main"]) is None


def test_secrets_do_not_show_in_what_is_printed_of_the_settings(load: Load) -> None:
    settings = load(env={"OPENAI_API_KEY": "sk-hidden", "UNDERSTUDY_ADMIN_TOKEN": "und-hidden"})

    assert "hidden" not in repr(settings)
    assert settings.admin_token is not None
    assert settings.admin_token.get_secret_value() == "und-hidden"


@pytest.mark.parametrize(
    ("bind", "host", "port", "loopback"),
    [
        ("127.0.0.1:4600", "127.0.0.1", 4600, True),
        ("127.8.8.8:0", "127.8.8.8", 0, True),
        ("localhost:80", "localhost", 80, True),
        ("[::1]:4600", "[::1]", 4600, True),
        ("0.0.0.0:4600", "0.0.0.0", 4600, False),
        ("[::]:4600", "[::]", 4600, False),
        ("example.com:65535", "example.com", 65535, False),
        ("192.168.1.2:4600", "192.168.1.2", 4600, False),
    ],
)
def test_a_bind_is_a_host_and_a_port(
    load: Load, bind: str, host: str, port: int, loopback: bool
) -> None:
    settings = load(bind=bind)

    assert (settings.host, settings.port, settings.is_loopback) == (host, port, loopback)


@pytest.mark.parametrize("bind", ["4600", ":4600", "host:", "host:port", "host:-1", "host:65536"])
def test_a_bind_that_is_none_is_refused(load: Load, bind: str) -> None:
    assert "bind" in load.problem(bind=bind)


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("postgres://u@h/d", "postgresql://u@h/d"),
        ("postgresql://u@h/d", "postgresql://u@h/d"),
        ("postgresql+psycopg://u@h/d", "postgresql://u@h/d"),
    ],
)
def test_a_postgresql_url_may_be_written_in_every_usual_way(
    load: Load, url: str, kept: str
) -> None:
    settings = load(database_url=url)

    assert settings.database_url == kept
    assert not settings.is_sqlite


@pytest.mark.parametrize("url", ["mysql://h/d", "sqlite://", "postgres", "file.db"])
def test_another_database_is_refused_without_showing_the_url(load: Load, url: str) -> None:
    message = load.problem(database_url=f"{url}?password=hidden")

    assert "database_url" in message
    assert "hidden" not in message


def test_the_debug_level_of_the_environment_is_checked(load: Load) -> None:
    assert load(env={"UNDERSTUDY_DEBUG_LEVEL": "full"}).debug_level == "full"
    assert "debug_level" in load.problem(env={"UNDERSTUDY_DEBUG_LEVEL": "loud"})


@pytest.mark.parametrize(
    ("env", "url"),
    [
        ({}, "http://127.0.0.1:4600"),
        ({"UNDERSTUDY_URL": "https://far.example"}, "https://far.example"),
        ({"UNDERSTUDY_BIND": "127.0.0.1:99"}, "http://127.0.0.1:99"),
        ({"UNDERSTUDY_BIND": "0.0.0.0:99"}, "http://127.0.0.1:99"),
        ({"UNDERSTUDY_BIND": "[::]:99"}, "http://[::1]:99"),
    ],
)
def test_a_client_finds_the_daemon_of_the_same_environment(env: dict[str, str], url: str) -> None:
    assert client_settings(env).url == url


def test_a_clients_token_is_not_printed() -> None:
    settings = client_settings({"UNDERSTUDY_TOKEN": "hidden"})

    assert settings.token == "hidden"
    assert "hidden" not in repr(settings)


def test_proxies_are_trusted_by_address_and_network_and_nobody_by_default(load: Load) -> None:
    assert load().trusted_proxies == ()
    proxies = load('trusted_proxies = ["10.0.0.2", "10.1.0.0/16"]').trusted_proxies
    assert proxies == ("10.0.0.2/32", "10.1.0.0/16")
    for wrong in ("*", "proxy.example", "10.0.0.1/8"):
        told = load.problem(f'trusted_proxies = ["{wrong}"]')
        assert "trusted_proxies.0: " in told
        assert "network" in told

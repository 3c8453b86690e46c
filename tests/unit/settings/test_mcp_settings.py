"""MCP servers in the config file."""

from pathlib import Path

import pytest

from understudy.mcp_client.config_servers import configured_servers
from understudy.mcp_client.model import HttpServer, Program
from understudy.settings import Flags, Settings, SettingsError, load_settings

KEY = "key-" + "abcdef"


def load(home: Path, config: str, **environment: str) -> Settings:
    (home / "config.toml").write_text(config)
    return load_settings(Flags(home=home), environment)


def problem(home: Path, config: str) -> str:
    with pytest.raises(SettingsError) as refused:
        load(home, config)
    return str(refused.value)


def test_without_a_word_there_is_no_server(tmp_path: Path) -> None:
    assert load(tmp_path, "").mcp_servers == {}


def test_a_program_gets_what_is_declared_and_what_every_program_needs(tmp_path: Path) -> None:
    config = """
    [mcp.servers.git]
    command = "mcp-server-git"
    args = ["--repository", "/srv/x"]
    env = { LEVEL = "debug" }
    env_from = ["GIT_KEY"]
    timeout_s = 5
    """
    settings = load(
        tmp_path, config, PATH="/bin", HOME="/root", GIT_KEY=KEY, OPENAI_API_KEY="o" * 9
    )
    (server,) = configured_servers(settings.mcp_servers, settings.environment)

    assert server.target == Program(
        command="mcp-server-git",
        args=("--repository", "/srv/x"),
        environment={"PATH": "/bin", "HOME": "/root", "LEVEL": "debug", "GIT_KEY": KEY},
    )
    assert (server.is_credentialed, server.unusable, server.timeout_s) == (True, None, 5)
    assert (server.needs_approval, server.trusts_annotations) == (True, False)
    assert KEY in settings.secrets
    assert KEY not in repr(server)


def test_an_address_gets_its_headers(tmp_path: Path) -> None:
    config = """
    [mcp.servers.far]
    url = "https://tools.example/mcp"
    headers = { "X-Team" = "blue" }
    headers_from = { Authorization = "FAR_AUTH" }
    approval = "never"
    trust_annotations = true
    """
    settings = load(tmp_path, config, FAR_AUTH=f"Bearer {KEY}")
    (server,) = configured_servers(settings.mcp_servers, settings.environment)

    assert server.target == HttpServer(
        url="https://tools.example/mcp",
        headers={"X-Team": "blue", "Authorization": f"Bearer {KEY}"},
    )
    assert (server.needs_approval, server.trusts_annotations) == (False, True)
    assert f"Bearer {KEY}" in settings.secrets


def test_a_server_whose_credential_is_missing_is_unusable_and_the_daemon_starts(
    tmp_path: Path,
) -> None:
    settings = load(tmp_path, '[mcp.servers.a]\ncommand = "a"\nenv_from = ["A_KEY"]')
    (server,) = configured_servers(settings.mcp_servers, settings.environment)

    assert server.unusable == "the environment variable A_KEY is not set"


def test_a_server_that_is_switched_off_is_not_there(tmp_path: Path) -> None:
    settings = load(tmp_path, '[mcp.servers.a]\ncommand = "a"\nenabled = false')

    assert configured_servers(settings.mcp_servers, settings.environment) == ()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("", "mcp.servers.a: needs either command or url"),
        ('command = "a"\nurl = "http://x"', "needs either command or url"),
        ('url = "http://x"\nargs = ["a"]', "args does not go with url"),
        ('url = "http://x"\nenv_from = ["A"]', "env_from does not go with url"),
        ('command = "a"\nheaders = {a = "b"}', "headers does not go with command"),
        ('url = "ftp://x"', "mcp.servers.a.url: must be an address"),
        ('url = "http://"', "must be an address"),
        ('url = "http://[::1"', "must be an address"),
        ('url = "http://x:99999/"', "must be an address"),
        ('url = "http://user:pw@x"', "must not hold a user or a password"),
        ('command = "a\\nb"', "mcp.servers.a.command: must be printable"),
        ('command = ""', "command: must have at least 1"),
        ('command = "a"\ntimeout_s = 0', "timeout_s: must be more than 0"),
        ('command = "a"\nenv = { "A B" = "1" }', "env.A B"),
        ('command = "a"\nenv_from = ["A=B"]', "env_from.0"),
        ('url = "http://x"\nheaders = { "a:b" = "1" }', "headers.a:b"),
        ('url = "http://x"\nheaders = { "a" = "1\\r\\nHost: b" }', "must be printable"),
        ('commands = "a"', "mcp.servers.a.commands: is not a setting; did you mean command?"),
        ('command = "a"\napproval = "maybe"', "approval"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, body: str, said: str) -> None:
    assert said in problem(tmp_path, f"[mcp.servers.a]\n{body}\n")


@pytest.mark.parametrize("name", ["Upper", "a_b", "a/b", "", "x" * 41, "a b"])
def test_an_odd_name_is_refused(tmp_path: Path, name: str) -> None:
    assert "mcp.servers" in problem(tmp_path, f'[mcp.servers."{name}"]\ncommand = "a"\n')

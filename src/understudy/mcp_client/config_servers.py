"""The MCP servers of the config file, with credentials from the environment."""

from collections.abc import Mapping
from typing import Final

from understudy.mcp_client.model import HttpServer, McpServer, Program
from understudy.settings.mcp import McpServerConfig

# Paths and locale; none of these variables holds a credential.
PASSED_ON: Final = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER")


def configured_servers(
    configs: Mapping[str, McpServerConfig], environment: Mapping[str, str]
) -> tuple[McpServer, ...]:
    """Every enabled server."""
    return tuple(
        _server(name, config, environment) for name, config in configs.items() if config.enabled
    )


def _server(name: str, config: McpServerConfig, environment: Mapping[str, str]) -> McpServer:
    missing = [each for each in config.variables if not environment.get(each)]
    return McpServer(
        name=name,
        target=_target(config, environment),
        timeout_s=config.timeout_s,
        needs_approval=config.approval == "always",
        trusts_annotations=config.trust_annotations,
        is_credentialed=bool(config.variables),
        unusable=f"the environment variable {missing[0]} is not set" if missing else None,
    )


def _target(config: McpServerConfig, environment: Mapping[str, str]) -> Program | HttpServer:
    if config.command is None:
        secret = {
            header: environment.get(variable, "")
            for header, variable in config.headers_from.items()
        }
        return HttpServer(url=config.url or "", headers={**config.headers, **secret})
    given = {name: environment.get(name, "") for name in config.env_from}
    return Program(
        command=config.command,
        args=config.args,
        environment={**base_environment(environment), **config.env, **given},
        cwd=config.cwd,
    )


def base_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that every program needs."""
    return {name: environment[name] for name in PASSED_ON if name in environment}

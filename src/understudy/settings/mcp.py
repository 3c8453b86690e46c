"""The schema of MCP servers in the config file."""

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

SERVER_NAME: Final = r"^[a-z0-9-]{1,40}$"
HEADER_NAME: Final = r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$"
VARIABLE_NAME: Final = r"^[A-Za-z_][A-Za-z0-9_]{0,99}$"
MAX_URL_CHARS: Final = 2000
DEFAULT_TIMEOUT_S: Final = 60.0
# Keys that are valid for only one transport.
PROGRAM_KEYS: Final = ("args", "env", "env_from", "cwd")
ENDPOINT_KEYS: Final = ("headers", "headers_from")


def _sound(text: str) -> str:
    """Refuse text that an operating system or an HTTP client would reject."""
    if not text.isprintable():
        raise ValueError("must be printable, on one line")
    return text


def _web_address(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable, parts = False, urlsplit("")
    if not is_usable or re.search(r"\s", url):
        raise ValueError("must be an address such as https://tools.example/mcp")
    if "@" in parts.netloc:
        raise ValueError("must not hold a user or a password")
    return url


Command = Annotated[str, Field(min_length=1, max_length=4000), AfterValidator(_sound)]
Value = Annotated[str, Field(max_length=32_000), AfterValidator(_sound)]
Url = Annotated[str, Field(max_length=MAX_URL_CHARS), AfterValidator(_web_address)]
ServerName = Annotated[str, StringConstraints(pattern=SERVER_NAME)]
HeaderName = Annotated[str, StringConstraints(pattern=HEADER_NAME)]
Variable = Annotated[str, StringConstraints(pattern=VARIABLE_NAME)]


def check_is_one_thing(command: str | None, url: str | None, given: Collection[str]) -> None:
    """Raise `ValueError` unless it is either a program or a URL, with only its own keys."""
    if (command is None) == (url is None):
        raise ValueError("needs either command or url")
    foreign = ENDPOINT_KEYS if command is not None else PROGRAM_KEYS
    stray = next((key for key in foreign if key in given), None)
    if stray is not None:
        raise ValueError(f"{stray} does not go with {'url' if command is None else 'command'}")


class McpServerConfig(BaseModel):
    """One MCP server: a program to start, or a URL to call."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: Command | None = None
    args: Annotated[tuple[Value, ...], Field(max_length=100)] = ()
    env: dict[Variable, Value] = Field(default_factory=dict, max_length=100)
    env_from: Annotated[tuple[Variable, ...], Field(max_length=100)] = ()
    cwd: Path | None = None
    url: Url | None = None
    headers: dict[HeaderName, Value] = Field(default_factory=dict, max_length=50)
    headers_from: dict[HeaderName, Variable] = Field(default_factory=dict, max_length=50)
    timeout_s: float = Field(default=DEFAULT_TIMEOUT_S, gt=0, le=3600, allow_inf_nan=False)
    enabled: bool = True
    approval: Literal["always", "never"] = "always"
    # Whether the server's claims that a tool is read-only are trusted.
    trust_annotations: bool = False

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
        check_is_one_thing(self.command, self.url, self.model_fields_set)
        return self

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables with this server's credentials."""
        return (*self.env_from, *self.headers_from.values())


class McpConfig(BaseModel):
    """The `[mcp]` table of the config file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    servers: dict[ServerName, McpServerConfig] = Field(default_factory=dict, max_length=100)


def credentials(
    servers: Mapping[str, McpServerConfig], environment: Mapping[str, str]
) -> tuple[str, ...]:
    """All credentials of the servers, for masking."""
    names = {name for server in servers.values() for name in server.variables}
    return tuple(environment[name] for name in sorted(names) if environment.get(name))

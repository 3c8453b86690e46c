"""The command line and the settings described from their definitions, as Markdown."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import typer
from typer.core import TyperGroup

from understudy.cli.output import ExitCode

SHARED: Final = ("--url", "--token", "--json")
EXIT_MEANINGS: Final = {
    ExitCode.DONE: "done",
    ExitCode.FAILED: "failed; also when a run that was waited for did not complete",
    ExitCode.USAGE: "the command line, a value in it, or a setting is wrong",
    ExitCode.NOT_FOUND: "there is no such thing",
    ExitCode.REFUSED: "refused: a token, a role, or the state of the thing forbids it",
    ExitCode.UNREACHABLE: "no daemon answers, or it is starting or draining",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """An argument or an option."""

    names: tuple[str, ...]
    help: str
    value: str = ""
    default: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceEntry:
    """A command, or a group of commands."""

    path: str
    help: str
    is_group: bool
    arguments: tuple[Parameter, ...] = ()
    options: tuple[Parameter, ...] = ()

    @property
    def usage(self) -> str:
        """How it is typed."""
        parts = [self.path, *(argument.names[0] for argument in self.arguments), "[OPTIONS]"]
        return " ".join(parts)


def entries(app: typer.Typer) -> list[ReferenceEntry]:
    """Every command and group that help lists, each group before its commands."""
    return list(_walk("understudy", typer.main.get_command(app)))


def cli_markdown(app: typer.Typer) -> str:
    """The page about the command line."""
    found = entries(app)
    lines = [
        "# Command line",
        "",
        "Made by `scripts/reference`; change the commands, not this page.",
        "",
        found[0].help,
        "",
        "Every command but `serve` takes:",
        "",
        *(_bullet(option) for option in found[0].options if option.names[0] in SHARED),
        "",
        "With `--json` stdout holds the API's JSON alone; what is for people goes to stderr.",
        "",
        "| exit code | means |",
        "|---|---|",
        *(f"| {code} | {EXIT_MEANINGS[code]} |" for code in ExitCode),
    ]
    for entry in found[1:]:
        lines += ["", *_section(entry)]
    return "\n".join(lines) + "\n"


def _walk(path: str, command: Any) -> Iterator[ReferenceEntry]:
    is_group = isinstance(command, TyperGroup)
    yield ReferenceEntry(
        path=path,
        help=" ".join((command.help or "").split()),
        is_group=is_group,
        arguments=tuple(_parameters(command, "argument")),
        options=tuple(_parameters(command, "option")),
    )
    for name, child in command.commands.items() if is_group else ():
        if not child.hidden:
            yield from _walk(f"{path} {name}", child)


def _parameters(command: Any, kind: str) -> Iterator[Parameter]:
    for parameter in command.params:
        if parameter.param_type_name != kind or "completion" in parameter.name:
            continue
        is_flag = getattr(parameter, "is_flag", False)
        names = (parameter.metavar,) if kind == "argument" else (*parameter.opts,)
        default = parameter.default
        yield Parameter(
            names=names,
            help=parameter.help or "",
            value="" if is_flag or kind == "argument" else _value(parameter),
            default="" if default in (None, False, "") else str(default),
        )


def _value(parameter: Any) -> str:
    kind = parameter.type.name.partition(" ")[0].upper()
    return str(parameter.metavar or {"STR": "TEXT"}.get(kind, kind))


def _section(entry: ReferenceEntry) -> list[str]:
    if entry.is_group:
        return [f"## {entry.path}", "", entry.help]
    depth = "###" if entry.path.count(" ") > 1 else "##"
    lines = [f"{depth} {entry.path}", "", entry.help, "", "```", entry.usage, "```"]
    own = [option for option in entry.options if option.names[0] not in SHARED]
    described = [*entry.arguments, *own]
    return [*lines, "", *map(_bullet, described)] if described else lines


def _bullet(parameter: Parameter) -> str:
    names = ", ".join(parameter.names) + (f" {parameter.value}" if parameter.value else "")
    default = f" Default: `{parameter.default}`." if parameter.default else ""
    return f"- `{names}`: {parameter.help}{default}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting and the places where it can be given."""

    name: str
    meaning: str
    default: str = ""
    flag: str = ""
    variable: str = ""
    # Whether the config file takes it, under its name.
    in_file: bool = True


SETTINGS: Final = (
    Setting(
        name="home",
        meaning="where the daemon's files live",
        default="the XDG data directory",
        flag="--home",
        variable="UNDERSTUDY_HOME",
        in_file=False,
    ),
    Setting(
        name="config",
        meaning="the config file",
        default="`<home>/config.toml`",
        flag="--config",
        variable="UNDERSTUDY_CONFIG",
        in_file=False,
    ),
    Setting(
        name="bind",
        meaning="where to listen; beyond loopback a token is needed",
        default="`127.0.0.1:4600`",
        flag="--bind",
        variable="UNDERSTUDY_BIND",
    ),
    Setting(
        name="database_url",
        meaning="`sqlite:///…`, or `postgresql://…` for several daemons",
        default="`sqlite:///<home>/understudy.db`",
        flag="--database-url",
        variable="UNDERSTUDY_DATABASE_URL",
    ),
    Setting(
        name="database.pool_size",
        meaning="`[database] pool_size = 16`: connections to PostgreSQL that a daemon keeps open, at "
        "least 5",
        default="`16`",
        variable="UNDERSTUDY_DATABASE_POOL_SIZE",
    ),
    Setting(
        name="database.max_overflow",
        meaning="how many more it opens under load",
        default="`16`",
        variable="UNDERSTUDY_DATABASE_MAX_OVERFLOW",
    ),
    Setting(
        name="database.statement_timeout_ms",
        meaning="PostgreSQL ends a statement that takes longer; `0` leaves it to the server",
        default="`0`",
        variable="UNDERSTUDY_DATABASE_STATEMENT_TIMEOUT_MS",
    ),
    Setting(
        name="database.direct_url",
        meaning="leads to the PostgreSQL server itself where `database_url` leads to a "
        "[pooler in transaction mode](../howto/run-on-postgresql.md#behind-a-pooler)",
        default="`database_url`",
        variable="UNDERSTUDY_DATABASE_DIRECT_URL",
    ),
    Setting(
        name="role",
        meaning="where several daemons share PostgreSQL: `api` answers people and leaves the work to "
        "others, `worker` works and answers only probes ([roles](../howto/run-on-postgresql.md#roles))",
        default="`all`",
        flag="--role",
        variable="UNDERSTUDY_ROLE",
        in_file=False,
    ),
    Setting(
        name="workspace",
        meaning="the agents' working directory",
        default="`<home>/workspace`",
        flag="--workspace",
        variable="UNDERSTUDY_WORKSPACE",
    ),
    Setting(
        name="default_route",
        meaning="where runs go that nobody chose a route for",
        default="the first route",
    ),
    Setting(
        name="debug_level",
        meaning="which provider traffic is kept, redacted: `off`, `requests` or `full`",
        default="`off`",
        variable="UNDERSTUDY_DEBUG_LEVEL",
    ),
    Setting(
        name="log_level",
        meaning="`debug`, `info`, `warning` or `error`",
        default="`info`",
        variable="UNDERSTUDY_LOG_LEVEL",
    ),
    Setting(
        name="max_active_steps",
        meaning="model and tool calls at the same time",
        default="`32`",
    ),
    Setting(
        name="history_retention_hours",
        meaning="how long the engine's records of finished runs are kept",
        default="`72`",
    ),
    Setting(
        name="isolation",
        meaning="`per_user`: what belongs to other users exists for admins alone",
        default="`shared`",
    ),
    Setting(
        name="trusted_proxies",
        meaning='`["10.0.0.2"]`: addresses and networks of the proxies in front, whose '
        "`X-Forwarded-For` and `X-Forwarded-Proto` count; nobody else's do",
        default="none",
    ),
    Setting(
        name="approval_expires_s",
        meaning="seconds after which an approval that nobody gave counts as denied",
        default="never",
    ),
    Setting(
        name="question_expires_s",
        meaning="seconds after which a question that nobody answered cancels its run, where the "
        "agent does not say",
        default="never",
    ),
    Setting(
        name="fetch",
        meaning='`[fetch] allow = ["127.0.0.1:8080", "10.0.0.0/8"]`: hosts, addresses and '
        "networks that `fetch_url` may reach though they are not public",
        default="none",
    ),
    Setting(
        name="skills",
        meaning='`[skills] roots = ["/srv/skills"]`: folders whose skills everybody is '
        "offered; operators add their own with `understudy skills roots add`",
        default="no roots",
    ),
    Setting(
        name="guard",
        meaning="`[guard] allow_acknowledged = true`: an admin may keep a skill that the guard "
        "refuses, naming each finding with a reason",
        default="`false`",
    ),
    Setting(
        name="retention",
        meaning="`[retention] captures_days = 7`: how many days records are kept, `0` for ever: "
        "`captures_days`, `artifacts_days`, `receipts_days`, `deliveries_days`, `messages_days`, "
        "`background_tasks_days`, `audit_days` ([retention](../howto/operate.md#retention))",
        default="14, 90, 30, 90, 90, 90 and 730 days",
    ),
    Setting(
        name="background",
        meaning="`[background] max_runtime_s = 14400`: how long a "
        "[background task](../concepts/background-tasks.md) may run, in seconds; `per_session` and "
        "`in_all`: how many run at a time, `0` for none",
        default="4 hours; 4 and 16",
    ),
    Setting(
        name="otel",
        meaning='`[otel] endpoint = "http://127.0.0.1:4318"`: where the '
        "[spans of runs](../howto/opentelemetry.md#send-the-spans-of-your-runs) are sent; "
        "`content = true`: with what was said, scrubbed",
        default="nowhere; without content",
    ),
    Setting(
        name="runs",
        meaning="`[runs] max_in_flight_per_user = 16`: how many runs of one user work at a time, in "
        "all daemons together; the others stay queued, and those that wait do not count "
        "([runs](../concepts/runs.md)); `0` for no limit",
        default="`16`",
    ),
    Setting(
        name="evolution",
        meaning="`[evolution] soul_change_percent = 40`: how much of its `SOUL.md` an agent may "
        "change in one run, `1` to `100`",
        default="`40`",
    ),
    Setting(
        name="admin_token",
        meaning="a token of the role admin, for user `admin`",
        variable="UNDERSTUDY_ADMIN_TOKEN",
        in_file=False,
    ),
    Setting(
        name="webhook_secret",
        meaning="what webhooks are signed with, at least 16 characters",
        default="one the daemon makes and keeps",
        variable="UNDERSTUDY_WEBHOOK_SECRET",
        in_file=False,
    ),
)
ROUTE_FIELDS: Final = {
    "provider": "`openai` (anything that speaks its chat-completions wire), `anthropic`, `scripted`",
    "model": "the model to ask for",
    "base_url": "where the provider is, when it is not the usual place",
    "api_key_env": "the environment variable that holds the key",
    "context_window": "how many tokens the model takes; by default by its [family](../concepts/routes.md#context-window)",
    "max_output_tokens": "the most tokens of one answer where a request names none; by default a quarter of the window, at most 16,384",
    "input_price": "US dollars per million input tokens, for the [overview](../concepts/routes.md#prices); by default the list price of the model",
    "output_price": "US dollars per million output tokens; set both prices or neither",
    "fallback_model": "tried once when the route's model cannot answer",
    "timeout_s": "how long a model call may take",
    "max_attempts": "how often a model call is tried",
    "script": "for `scripted`: a file to answer from",
    "accepts": "files the model takes, of `image` and `document`; both, but for `scripted` none",
}
MCP_FIELDS: Final = {
    "command": "the program to start",
    "args": "its arguments",
    "env": "variables it gets, with their values",
    "env_from": "variables of the daemon's environment that it gets: its credentials",
    "cwd": "where it works; where the daemon does, by default",
    "url": "in place of `command`: the address to call, over streamable HTTP",
    "headers": "headers of every request, with their values",
    "headers_from": "headers whose values are in variables of the daemon's environment: its "
    "credentials",
    "timeout_s": "how long a call may take; `60`",
    "enabled": "`false` leaves the server out",
    "approval": "`always` (a person must agree to each call, unless a permission says otherwise) "
    "or `never`; `always`",
    "trust_annotations": "`true` believes the server about which of its tools only read, so that "
    "their calls are repeated after a crash; `false`",
}
WITHOUT_FILE: Final = {
    "OPENAI_API_KEY": "makes route `openai`",
    "OPENAI_BASE_URL": "where that route goes",
    "ANTHROPIC_API_KEY": "makes route `anthropic`",
    "ANTHROPIC_BASE_URL": "where that route goes",
    "UNDERSTUDY_MODEL": "the model of the first of them",
}
CLIENT: Final = {
    "UNDERSTUDY_URL": "where commands find the daemon; by default where `UNDERSTUDY_BIND` says",
    "UNDERSTUDY_TOKEN": "who commands call as",
}


def settings_markdown() -> str:
    """The page about settings."""
    lines = [
        "# Settings",
        "",
        "Made by `scripts/reference`; change `scripts/cli_reference.py`, not this page.",
        "",
        "A flag of `understudy serve` counts before the environment, the environment before the",
        "config file, the config file before the default. `understudy config show` tells each",
        "value and where it came from.",
        "",
        "| setting | flag | environment | config file | default | meaning |",
        "|---|---|---|---|---|---|",
        *map(_row, SETTINGS),
        "",
        "## Routes",
        "",
        "The config file has a table `[routes.<route_id>]` for each route:",
        "",
        *_pairs("key", ROUTE_FIELDS),
        "",
        "With no route in the config file the environment makes them; with no key at all, the",
        "daemon starts on the built-in offline route `scripted`, and says so:",
        "",
        *_pairs("environment", WITHOUT_FILE),
        "",
        "## MCP servers",
        "",
        "The config file has a table `[mcp.servers.<name>]` for each server; names are of `a-z`,",
        "`0-9` and `-`. See [how to use MCP servers](../howto/mcp.md).",
        "",
        *_pairs("key", MCP_FIELDS),
        "",
        "## Commands that talk to a daemon",
        "",
        *_pairs("environment", CLIENT),
    ]
    return "\n".join(lines) + "\n"


def _row(setting: Setting) -> str:
    flag = f"`{setting.flag}`" if setting.flag else ""
    variable = f"`{setting.variable}`" if setting.variable else ""
    key = f"`{setting.name}`" if setting.in_file else ""
    cells = (f"`{setting.name}`", flag, variable, key, setting.default, setting.meaning)
    return "| " + " | ".join(cells) + " |"


def _pairs(heading: str, table: dict[str, str]) -> list[str]:
    rows = [f"| `{name}` | {meaning} |" for name, meaning in table.items()]
    return [f"| {heading} | meaning |", "|---|---|", *rows]

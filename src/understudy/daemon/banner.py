"""What a person sees when the daemon is up: where it is, and what to type next."""

import shutil
import sys
from pathlib import Path
from typing import Any, Final

from understudy import __version__
from understudy.settings import DEFAULT_BIND, Settings

OPEN: Final = (
    "no token yet: whatever runs on this machine is admin, also what an agent runs"
    " (`{program} tokens create me --role admin` ends that)"
)


def banner(
    settings: Settings, address: Any, program: str, *, not_ready: str | None, is_open: bool
) -> str:
    """A few lines for the terminal; `program` is how a person calls us here.

    `not_ready` tells why the default route cannot answer, where it cannot; `is_open`, that there
    is no token.
    """
    host, port = address[0], address[1]
    url = f"http://[{host}]:{port}" if ":" in str(host) else f"http://{host}:{port}"
    lines = [
        f"Understudy {__version__} is ready at {url}",
        f"  home      {settings.home}",
        f"  database  {'SQLite, embedded' if settings.is_sqlite else 'PostgreSQL'}",
        f"  model     {_model(settings)}" + (f" (NOT READY: {not_ready})" if not_ready else ""),
        *([f"  access    {OPEN.format(program=program)}"] if is_open else []),
        "",
        "Try, in another terminal:",
        *(f"  {command}" for command in _commands(url, program)),
        "",
        "Ctrl-C drains and stops; whatever is under way goes on at the next start.",
    ]
    return "\n".join(lines)


def program_name(argument: str) -> str:
    """What to type to call this program: its name where that is enough, else its path."""
    if shutil.which("understudy"):
        return "understudy"
    path = Path(argument).absolute()
    if path.name != "understudy":
        return f"{sys.executable} -m understudy.cli.main"
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def _commands(url: str, program: str) -> list[str]:
    at = "" if url == f"http://{DEFAULT_BIND}" else f" --url {url}"
    return [
        f'{program} chat{at} "write hello to note.txt"',
        f'{program} chat{at} "run date"    # asks for your approval first',
        f"{program} chat{at}",
        f"{program} runs list{at}",
    ]


def _model(settings: Settings) -> str:
    route = settings.routes[settings.default_route]
    if settings.is_offline:
        return (
            "offline script, no key found (set OPENAI_API_KEY or ANTHROPIC_API_KEY for a real one)"
        )
    return f"{route.model} on route {settings.default_route}"

"""What a person sees when the daemon is up: where it is, and what to type next."""

from typing import Any

from understudy import __version__
from understudy.settings import Settings


def banner(settings: Settings, address: Any) -> str:
    """A few lines for the terminal."""
    host, port = address[0], address[1]
    url = f"http://[{host}]:{port}" if ":" in str(host) else f"http://{host}:{port}"
    lines = [
        f"Understudy {__version__} is ready at {url}",
        f"  home      {settings.home}",
        f"  database  {'SQLite, embedded' if settings.is_sqlite else 'PostgreSQL'}",
        f"  model     {_model(settings)}",
        "",
        "Try, in another terminal:",
        *(f"  {command}" for command in _commands(url)),
        "",
        "Ctrl-C drains and stops; whatever is under way goes on at the next start.",
    ]
    return "\n".join(lines)


def _commands(url: str) -> list[str]:
    prefix = "" if url == "http://127.0.0.1:4600" else f"UNDERSTUDY_URL={url} "
    return [
        f'{prefix}understudy chat "write a haiku to haiku.txt, then list files"',
        f"{prefix}understudy runs list",
        f"curl {url}/v1/status",
    ]


def _model(settings: Settings) -> str:
    route = settings.routes[settings.default_route]
    if settings.is_offline:
        return (
            "offline script, no key found (set OPENAI_API_KEY or ANTHROPIC_API_KEY for a real one)"
        )
    return f"{route.model} on route {settings.default_route}"

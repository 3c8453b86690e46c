"""Whether calls on a route can work, told from the settings alone."""

from dataclasses import dataclass
from pathlib import Path

from understudy.providers.script import load_script
from understudy.settings import RouteConfig, Settings, SettingsError


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """The verdict, and what is missing if it is a no."""

    ready: bool
    reason: str = ""


def check_route(route: RouteConfig, settings: Settings) -> Readiness:
    """Look at what the route needs, without calling anybody."""
    if route.provider == "scripted":
        reason = _script_problem(route, settings)
    else:
        reason = _address_problem(route) or _key_problem(route, settings)
    return Readiness(ready=not reason, reason=reason)


def script_path(script: Path, settings: Settings) -> Path:
    """A script's path; a relative one is meant from where the config file is."""
    return settings.config_file.parent / script.expanduser()


def _script_problem(route: RouteConfig, settings: Settings) -> str:
    if route.script is None:
        return ""
    try:
        load_script(script_path(route.script, settings))
    except SettingsError as problem:
        return str(problem)
    return ""


def _address_problem(route: RouteConfig) -> str:
    if route.base_url and not route.base_url.startswith(("http://", "https://")):
        return "base_url must begin with http:// or https://"
    return ""


def _key_problem(route: RouteConfig, settings: Settings) -> str:
    if route.api_key_env is None:
        # A server of one's own may want no key; the public ones always do.
        return "" if route.base_url else "api_key_env is not set, and there is no base_url"
    key = (settings.api_key(route) or "").strip()
    if not key:
        return f"the environment variable {route.api_key_env} is not set"
    if not key.isascii() or not key.isprintable() or " " in key:
        return f"the environment variable {route.api_key_env} does not hold a key"
    return ""

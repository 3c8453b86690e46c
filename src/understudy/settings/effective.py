"""The effective settings and the source of each; secrets are masked."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from understudy.settings.config_file import (
    SOUL_CHANGE_PERCENT,
    BackgroundConfig,
    OtelConfig,
    RetentionConfig,
    RunsConfig,
)
from understudy.settings.model import Settings


def setting_rows(settings: Settings) -> list[dict[str, Any]]:
    """Every setting with its value and source."""
    values: dict[str, object] = {
        "home": str(settings.home),
        "config": str(settings.config_file),
        "bind": f"{settings.host}:{settings.port}",
        "database_url": without_password(settings.database_url),
        **{f"database.{key}": value for key, value in _database(settings)},
        "role": settings.role,
        "workspace": str(settings.workspace),
        "default_route": settings.default_route,
        "debug_level": settings.debug_level,
        "log_level": settings.log_level,
        "max_active_steps": settings.max_active_steps,
        "history_retention_hours": settings.history_retention_hours,
        "approval_expires_s": settings.approval_expires_s,
        "question_expires_s": settings.question_expires_s,
        "fetch": f"allow {', '.join(settings.fetch_allow) or 'nothing private'}",
        "skills": f"roots {', '.join(map(str, settings.skill_roots)) or 'none'}",
        "guard": f"allow_acknowledged {str(settings.guard_allow_acknowledged).lower()}",
        "retention": ", ".join(f"{name} {days}" for name, days in settings.retention_days.items()),
        "background": ", ".join(f"{name} {value}" for name, value in settings.background),
        "runs": f"max_in_flight_per_user {settings.max_runs_in_flight_per_user or 0}",
        "evolution": f"soul_change_percent {settings.soul_change_percent}",
        "isolation": settings.isolation,
        "trusted_proxies": ", ".join(settings.trusted_proxies) or "none",
        "admin_token": "set" if settings.admin_token else "not set",
        "webhook_secret": "set" if settings.webhook_secret else "not set",
    }
    sources = {"admin_token": "environment" if settings.admin_token else "default"}
    sources |= dict.fromkeys(_from_file(settings), "file")
    sources |= settings.sources
    return [
        {"name": name, "value": value, "source": sources.get(name, "default")}
        for name, value in values.items()
    ]


def _database(settings: Settings) -> Iterator[tuple[str, object]]:
    for key, value in settings.database:
        yield key, without_password(value) if isinstance(value, str) else value


def _from_file(settings: Settings) -> Iterator[str]:
    """The config tables that differ from the defaults."""
    most_in_flight = RunsConfig().max_in_flight_per_user
    differs = {
        "fetch": bool(settings.fetch_allow),
        "skills": bool(settings.skill_roots),
        "isolation": settings.isolation != "shared",
        "trusted_proxies": bool(settings.trusted_proxies),
        "guard": settings.guard_allow_acknowledged,
        "retention": dict(settings.retention_days) != RetentionConfig().model_dump(),
        "background": settings.background != BackgroundConfig(),
        "otel": settings.otel != OtelConfig(),
        "runs": settings.max_runs_in_flight_per_user != most_in_flight,
        "evolution": settings.soul_change_percent != SOUL_CHANGE_PERCENT,
    }
    yield from (name for name, is_other in differs.items() if is_other)


def route_rows(settings: Settings) -> list[dict[str, Any]]:
    """Every route; its key only as present or absent."""
    return [
        {
            "route_id": route_id,
            "provider": route.provider,
            "model": route.model,
            "base_url": without_password(route.base_url) if route.base_url else None,
            "key": _key_state(settings.api_key(route), route.api_key_env),
            "source": settings.sources.get("routes", "default"),
        }
        for route_id, route in settings.routes.items()
    ]


def without_password(url: str) -> str:
    """The URL with its password masked, in the authority or the query."""
    parts = urlsplit(url)
    netloc = parts.netloc
    if not netloc:
        return url
    if parts.password is not None:
        login, _, host = netloc.rpartition("@")
        netloc = f"{login.partition(':')[0]}:***@{host}"
    query = parse_qsl(parts.query, keep_blank_values=True)
    hidden = [(name, "***" if "password" in name.lower() else value) for name, value in query]
    shown = urlencode(hidden, quote_via=quote, safe="*/")
    return urlunsplit(parts._replace(netloc=netloc, query=shown))


def _key_state(key: str | None, variable: str | None) -> str:
    if variable is None:
        return "none"
    return f"from {variable}" if key else f"missing: {variable} is not set"

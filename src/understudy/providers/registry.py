"""The providers of the configured routes, created on first use."""

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

import structlog

from understudy.core.errors import coded_error
from understudy.core.text import Scrub
from understudy.providers.base import Provider, ProviderError
from understudy.providers.failures import as_it_is, bounded
from understudy.providers.model_windows import (
    DEFAULT_WINDOW,
    ContextWindow,
    WindowSource,
    context_window,
)
from understudy.providers.retry import RetryingProvider
from understudy.providers.scripted import ScriptedProvider, load_script
from understudy.settings import RouteConfig, Settings, SettingsError

log = structlog.get_logger()
# The default limit of output tokens: room for a long file, and an end for a model that repeats itself.
MAX_OUTPUT_TOKENS: Final = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """Whether a route is ready, and what is missing if not."""

    ready: bool
    reason: str = ""


def check_route(route: RouteConfig, settings: Settings) -> Readiness:
    """Check the requirements of a route without a model call."""
    if route.provider == "scripted":
        reason = _script_problem(route, settings)
    else:
        reason = _address_problem(route) or _key_problem(route, settings)
    return Readiness(ready=not reason, reason=reason)


def script_path(script: Path, settings: Settings) -> Path:
    """A script's path; a relative one is resolved against the config file's folder."""
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
    if not route.base_url:
        return ""
    if not route.base_url.startswith(("http://", "https://")):
        return "base_url must begin with http:// or https://"
    try:
        parts = urlsplit(route.base_url)
        is_valid = bool(parts.hostname and parts.hostname.encode("idna")) and parts.port != 0
    except ValueError:
        is_valid = False
    return "" if is_valid else "base_url has no valid host and port"


def _key_problem(route: RouteConfig, settings: Settings) -> str:
    if route.api_key_env is None:
        # A server behind a base URL may need no key; public APIs always do.
        return "" if route.base_url else "api_key_env is not set, and there is no base_url"
    key = (settings.api_key(route) or "").strip()
    if not key:
        return f"the environment variable {route.api_key_env} is not set"
    if not key.isascii() or not key.isprintable() or " " in key:
        return f"the environment variable {route.api_key_env} does not hold a key"
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteInfo:
    """A route as shown to an operator: everything but the key."""

    route_id: str
    provider: str
    model: str
    base_url: str | None = None
    # The window of the route's own model.
    context_window: int = DEFAULT_WINDOW
    context_window_source: WindowSource = WindowSource.DEFAULT
    ready: bool = True
    # Why it is not ready.
    reason: str | None = None
    # The kinds of files that its model accepts beside text: `image`, `document`.
    accepts: frozenset[str] = frozenset()


class Routes:
    """Every route by its id; `scrub` removes secrets from a provider's error messages.

    Routes in `built_in` are found by id but not listed; a configured route takes precedence.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        scrub: Scrub = as_it_is,
        built_in: Mapping[str, RouteConfig] = MappingProxyType({}),
    ) -> None:
        self._settings = settings
        self._configs = {**built_in, **settings.routes}
        self._scrub = scrub
        self._providers: dict[str, Provider] = {}
        self._is_closed = False
        # One lock per route: loading a provider is slow, so the daemon does it in a thread, and
        # a run on another route must not wait for it.
        self._making = {route_id: threading.Lock() for route_id in self._configs}

    def config(self, route_id: str) -> RouteConfig:
        """The settings of a route; raises `NotFound`."""
        try:
            return self._configs[route_id]
        except KeyError:
            raise coded_error(
                "providers/route_not_found", route_id=route_id, known=list(self._settings.routes)
            ) from None

    def get(self, route_id: str) -> Provider:
        """The provider of a route; raises `NotFound`, or `ProviderError` if it is not ready."""
        route = self.config(route_id)
        with self._making[route_id]:
            if route_id not in self._providers:
                readiness = self.readiness(route_id)
                if not readiness.ready:
                    detail = f"route {route_id!r} is not ready: {readiness.reason}"
                    raise ProviderError("route_not_ready", detail=detail, retryable=False)
                self._providers[route_id] = _make(route, self._settings, self._scrub)
            return self._providers[route_id]

    async def provider(self, route_id: str) -> Provider:
        """As `get`, from the event loop: creating a provider takes long, and happens in a thread."""
        made = self._providers.get(route_id)
        return await asyncio.to_thread(self.get, route_id) if made is None else made

    def warm(self) -> None:
        """Create the providers of all ready routes in advance."""
        for route_id in self._settings.routes:
            if self._is_closed:
                return
            try:
                if self.readiness(route_id).ready:
                    self.get(route_id)
            except Exception as problem:  # noqa: BLE001 - the call that needs it will tell
                reason = bounded(self._scrub(f"{type(problem).__name__}: {problem}"))
                log.warning("route.warm_up_failed", route_id=route_id, reason=reason)

    def readiness(self, route_id: str) -> Readiness:
        """The readiness of a route; raises `NotFound`."""
        return check_route(self.config(route_id), self._settings)

    def find(self, route_id: str) -> RouteInfo | None:
        """One route, or None."""
        route = self._configs.get(route_id)
        return None if route is None else self._info(route_id, route)

    def window(self, route_id: str, model: str) -> ContextWindow:
        """The context window of a model on a route; a configured one is the route's own model's.

        It also applies to an unknown model, as the same server answers.
        """
        route = self._configs.get(route_id)
        configured = route.context_window if route else None
        found = context_window(model)
        is_own = route is not None and route.model == model
        if configured is not None and (is_own or found.source is WindowSource.DEFAULT):
            return ContextWindow(configured, WindowSource.CONFIGURED)
        return found

    def accepts(self, route_id: str) -> frozenset[str]:
        """The kinds of files that the model of a route accepts."""
        route = self._configs.get(route_id)
        return route.accepted if route else frozenset()

    def kind(self, route_id: str) -> str:
        """The provider of a route, as metrics name it."""
        route = self._configs.get(route_id)
        return route.provider if route else "unknown"

    def all(self) -> tuple[RouteInfo, ...]:
        """Every route, in the order of the settings."""
        return tuple(self._info(route_id, it) for route_id, it in self._settings.routes.items())

    async def close(self) -> None:
        """Close every provider that was created."""
        self._is_closed = True
        providers, self._providers = self._providers, {}
        for provider in providers.values():
            await provider.close()

    def _info(self, route_id: str, route: RouteConfig) -> RouteInfo:
        readiness = self.readiness(route_id)
        window = self.window(route_id, route.model)
        return RouteInfo(
            route_id=route_id,
            provider=route.provider,
            model=route.model,
            base_url=route.base_url and _without_credentials(route.base_url),
            context_window=window.tokens,
            context_window_source=window.source,
            ready=readiness.ready,
            reason=readiness.reason or None,
            accepts=route.accepted,
        )


def _make(route: RouteConfig, settings: Settings, scrub: Scrub) -> Provider:
    # Imported lazily: the libraries load slowly, so a route loads only its own.
    key = (settings.api_key(route) or "").strip() or None
    match route.provider:
        case "scripted":
            path = route.script and script_path(route.script, settings)
            return ScriptedProvider(load_script(path) if path else None)
        case "openai":
            from understudy.providers.openai import OpenAIProvider

            openai = OpenAIProvider(api_key=key, base_url=route.base_url, scrub=scrub)
            return RetryingProvider(openai, route, max_output_tokens=output_limit(route))
        case "anthropic":
            from understudy.providers.anthropic import AnthropicProvider

            anthropic = AnthropicProvider(api_key=key, base_url=route.base_url, scrub=scrub)
            return RetryingProvider(anthropic, route, max_output_tokens=output_limit(route))


def output_limit(route: RouteConfig) -> int:
    """The most tokens of one answer on a route, where a request names none."""
    window = route.context_window or context_window(route.model).tokens
    return route.max_output_tokens or min(MAX_OUTPUT_TOKENS, max(1, window // 4))


def _without_credentials(url: str) -> str | None:
    """The URL without credentials and query; None for one where they cannot be told apart."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()

"""A visit: one request for a page, with the caller's access to the operations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from understudy.access.browsers import refuse_foreign_host, refuse_other_sites
from understudy.access.sign_in import COOKIE
from understudy.api.operations import SAFE_METHODS
from understudy.console.forms import FormField
from understudy.console.live import LivePlace
from understudy.console.surface import Surface
from understudy.core.errors import UnderstudyError, coded_error
from understudy.core.principal import Principal
from understudy.i18n.locales import DEFAULT, from_accept_language, spoken_in

if TYPE_CHECKING:
    from understudy.daemon.services import Services

LANGUAGE: Final = "understudy_language"


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """One request for a page: the caller, the language, and calls of operations as the caller."""

    request: Request
    surface: Surface
    caller: Principal
    language: str
    # How far live updates were before the page read anything.
    since: LivePlace
    # What somebody sent with a form of the page itself.
    form: Mapping[str, str] = field(default_factory=dict)
    # What the page has called, with the answers: its JSON twin.
    calls: list[dict[str, Any]] = field(default_factory=list)

    @property
    def query(self) -> dict[str, str]:
        """The non-empty query parameters."""
        return {name: value for name, value in self.request.query_params.items() if value}

    @property
    def path(self) -> str:
        """The percent-encoded path of the page."""
        return quote(self.request.scope["path"], safe="/:@")

    @property
    def is_signed_in(self) -> bool:
        """Whether the caller signed in by cookie, and so can sign out."""
        return COOKIE in self.request.cookies

    @property
    def is_fragment(self) -> bool:
        """Whether htmx requests a fragment of a page."""
        return "hx-request" in self.request.headers

    async def call(self, operation: str, /, *, body: object = None, **values: object) -> Any:
        """Call an operation and return its answer; a list value repeats its query parameter."""
        given: dict[str, Any] = {
            name: value if isinstance(value, list) else str(value)
            for name, value in values.items()
            if value is not None
        }
        answer = await self.surface.call(
            self.caller, operation, given, body=body, language=self.language
        )
        self.calls.append({"operation": operation, "values": given, "answer": answer})
        return answer

    async def forward(self, operation: str) -> Any:
        """Call an operation that takes a form with the body of this request."""
        return await self.surface.forward(self.caller, operation, self.request, self.language)

    def may(self, operation: str) -> bool:
        """Whether the caller's role permits an operation."""
        return self.caller.role.includes(self.surface.role_of(operation))

    async def filters(self, operation: str) -> Sequence[FormField]:
        """The filters of a list operation."""
        return await run_in_threadpool(self.surface.filters, operation)


def caller_of(request: Request, services: "Services") -> Principal:
    """The principal of a request: by cookie; without tokens the local user."""
    refuse_foreign_host_on_loopback(request, services)
    if request.method not in SAFE_METHODS:
        require_same_site(request.headers)
    cookie = request.cookies.get(COOKIE)
    found = services.sign_in.principal(cookie) if cookie else None
    return found or services.tokens.authenticate(None)


def refuse_foreign_host_on_loopback(request: Request, services: "Services") -> None:
    """Refuse a foreign `Host` on loopback, against DNS rebinding."""
    if services.resources.settings.is_loopback:
        refuse_foreign_host(request.headers)


def require_same_site(headers: Mapping[str, str]) -> None:
    """Refuse a form of another site, and one without `Origin` and `Sec-Fetch-Site`."""
    if "origin" not in headers and "sec-fetch-site" not in headers:
        raise coded_error("auth/cross_site_request")
    refuse_other_sites(headers)


def language_of(request: Request, caller: Principal | None) -> str:
    """The language of a page: from the cookie, else the token, else `Accept-Language`."""
    chosen = spoken_in(request.cookies.get(LANGUAGE, ""))
    of_token = caller.locale if caller else None
    return (
        chosen
        or of_token
        or from_accept_language(request.headers.get("accept-language"))
        or DEFAULT
    )


def is_stranger(error: UnderstudyError) -> bool:
    """Whether an error means that the caller must sign in."""
    return error.domain == "auth" and error.code == "unauthorized"

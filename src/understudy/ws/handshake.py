"""Authentication of a connection, repeated for each request."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from understudy import __version__
from understudy.access.browsers import refuse_foreign_host
from understudy.access.tokens import ACT_FOR, bearer_token
from understudy.core.errors import coded_error
from understudy.core.principal import Principal
from understudy.core.visibility import current_visibility, visibility_of
from understudy.i18n.locales import from_accept_language, locale_of
from understudy.wire.websocket import Connected, ConnectParams, ServerHello
from understudy.ws.quota import QuotaSlot

if TYPE_CHECKING:
    from understudy.daemon.services import Services

SERVER_NAME = "understudy"


class Caller:
    """The caller of a connection. Only the token is kept, as it may be deleted meanwhile."""

    def __init__(self, services: "Services", headers: Mapping[str, str], slot: QuotaSlot) -> None:
        self._services = services
        self._slot = slot
        self._headers = headers
        self._token: str | None = None
        self._act_for: str | None = None
        self.is_known = False
        # The language of the answers.
        self.locale = from_accept_language(headers.get("accept-language"))

    def connect(self, params: ConnectParams) -> Connected:
        """Authenticate by the token of the frame, or of the request that opened the socket."""
        if self.is_known:
            raise coded_error("ws/already_connected")
        if params.locale is not None:
            # Before anything else, so that a refusal is in that language, too.
            self.locale = locale_of(params.locale)
        if params.tenant_id:
            raise coded_error("ws/no_tenants", pointer="/params/tenant_id")
        self._token = params.token or bearer_token(self._headers.get("authorization"))
        self._act_for = self._other_user(params.user_id or self._headers.get(ACT_FOR))
        principal = self._authenticate()
        self.locale = self.locale or principal.locale
        self._slot.is_now(principal.user_id)
        self.is_known = True
        return Connected(
            role=principal.role,
            user_id=principal.user_id,
            server=ServerHello(name=SERVER_NAME, version=__version__),
        )

    def principal(self) -> Principal:
        """The principal for the next request; raises once its token is deleted."""
        if not self.is_known:
            raise coded_error("auth/unauthorized:connect_first")
        return self._authenticate()

    def _other_user(self, user_id: str | None) -> str | None:
        """The user to act for; None if it is the caller."""
        self._act_for = None
        return user_id if user_id and self._authenticate().user_id != user_id else None

    def _authenticate(self) -> Principal:
        if self._token is None and self._services.resources.settings.is_loopback:
            refuse_foreign_host(self._headers)
        principal = self._services.tokens.authenticate(self._token, act_for=self._act_for)
        # All later reads for this caller happen on the same thread, under this visibility.
        current_visibility.set(
            visibility_of(principal, self._services.resources.settings.isolation)
        )
        return principal

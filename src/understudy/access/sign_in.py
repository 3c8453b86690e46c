"""Sign-in of browsers: cookies for tokens, and one-time sign-in links."""

import hmac
import secrets
from dataclasses import dataclass, field
from typing import Final

from understudy.access.tokens import TOKEN_ADMIN, TokenService, hash_token
from understudy.core.errors import coded_error
from understudy.core.principal import Principal

# Stands in a cookie for the admin token, which has no record.
ADMIN_ID: Final = "admin"
COOKIE: Final = "understudy_console"
COOKIE_S: Final = 12 * 3600
# Browsers that are signed in with one token; one more signs the first out.
MAX_BROWSERS: Final = 100
LINK_S: Final = 10 * 60
MAX_LINKS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInLink:
    """A one-time link: a path of the console that signs in the first caller."""

    path: str
    expires_at_ms: int


@dataclass(frozen=True, slots=True)
class BrowserSignIn:
    """Sign-in of browsers: cookies for tokens, and one-time sign-in links.

    Both are random secrets in the memory of this process: a reader of the database cannot forge
    one, signing out ends one at once, and a restart ends all of them.
    """

    tokens: TokenService
    # The token id and the expiry of each unused link, by the link's secret.
    _links: dict[str, tuple[str, int]] = field(default_factory=dict, repr=False)
    # The expiry of each cookie, by the id of its token.
    _cookies: dict[str, dict[str, int]] = field(default_factory=dict, repr=False)

    def cookie(self, token: str) -> str:
        """A cookie for a token; raises `auth/unauthorized` for an unknown token."""
        return self._new_cookie(self._token_id(token))

    def principal(self, cookie: str) -> Principal | None:
        """The principal of a cookie; None if it is forged, expired or signed out, or its token is
        deleted."""
        token_id = cookie.partition(".")[0]
        until = self._cookies.get(token_id, {}).get(cookie, 0)
        return self._principal(token_id) if until > self.tokens.clock.now_ms() else None

    def sign_out(self, cookie: str) -> None:
        """End a cookie."""
        self._cookies.get(cookie.partition(".")[0], {}).pop(cookie, None)

    def link(self, token: str | None) -> SignInLink:
        """A one-time link for the holder of a token; without tokens, the path of the console."""
        until = self.tokens.clock.now_ms() + LINK_S * 1000
        if token is None:
            return SignInLink(path="/", expires_at_ms=until)
        token_id = self._token_id(token)
        while len(self._links) >= MAX_LINKS:
            self._links.pop(next(iter(self._links)), None)
        secret = secrets.token_urlsafe(32)
        self._links[secret] = (token_id, until)
        return SignInLink(path=f"/signin/{secret}", expires_at_ms=until)

    def link_principal(self, secret: str) -> Principal | None:
        """Whom a link signs in; None if it was used or has expired, or its token is deleted."""
        token_id, until = self._links.get(secret, ("", 0))
        return self._principal(token_id) if until > self.tokens.clock.now_ms() else None

    def use_link(self, secret: str) -> str | None:
        """Redeem a link for a cookie; None if it was used or has expired, or its token is deleted."""
        principal = self.link_principal(secret)
        token_id, _ = self._links.pop(secret, ("", 0))
        return self._new_cookie(token_id) if principal and token_id else None

    def _token_id(self, token: str) -> str:
        admin = self.tokens.admin_token
        if admin and hmac.compare_digest(token.encode(), admin.encode()):
            return ADMIN_ID
        with self.tokens.units.read() as unit:
            stored = unit.tokens.by_hash(hash_token(token))
        if stored is None:
            raise coded_error("auth/unauthorized:unknown_token")
        return stored.token_id

    def _principal(self, token_id: str) -> Principal | None:
        if token_id == ADMIN_ID:
            return TOKEN_ADMIN
        with self.tokens.units.read() as unit:
            stored = unit.tokens.get(token_id)
        if stored is None:
            self._cookies.pop(token_id, None)
        return stored.principal if stored else None

    def _new_cookie(self, token_id: str) -> str:
        cookies = self._cookies.setdefault(token_id, {})
        while len(cookies) >= MAX_BROWSERS:
            cookies.pop(next(iter(cookies)), None)
        cookie = f"{token_id}.{secrets.token_urlsafe(32)}"
        cookies[cookie] = self.tokens.clock.now_ms() + COOKIE_S * 1000
        return cookie

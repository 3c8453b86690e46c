"""Sign-in of browsers: signed cookies for tokens, and one-time sign-in links."""

import hmac
import secrets
from dataclasses import field
from functools import partial
from typing import Final

from understudy.access.tokens import TOKEN_ADMIN, TokenService, hash_token
from understudy.core.dataclass import dataclass
from understudy.core.errors import coded_error
from understudy.core.principal import Principal

# Stands in a cookie for the admin token, which has no record.
ADMIN_ID: Final = "admin"
COOKIE: Final = "understudy_console"
COOKIE_S: Final = 12 * 3600
# More digits than the expiry of a cookie, in seconds, ever has.
END_CHARS: Final = 12
LINK_S: Final = 10 * 60
MAX_LINKS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInLink:
    """A one-time link: a path of the console that signs in the first caller."""

    path: str
    expires_at_ms: int


@dataclass(frozen=True, slots=True)
class BrowserSignIn:
    """Sign-in of browsers: signed cookies for tokens, and one-time sign-in links.

    The signature of a cookie covers the hash of its token, so deleting the token revokes it. The
    key is a secret of this process: a reader of the database cannot forge a cookie, and a restart
    ends all of them.
    """

    tokens: TokenService
    # The cookie and the expiry of each unused link, by the link's secret.
    _links: dict[str, tuple[str, int]] = field(default_factory=dict)
    _secret: bytes = field(default_factory=partial(secrets.token_bytes, 32), repr=False)

    def cookie(self, token: str) -> str:
        """The cookie for a token; raises `auth/unauthorized` for an unknown token."""
        key = hash_token(token)
        admin = self.tokens.admin_token
        if admin and hmac.compare_digest(token.encode(), admin.encode()):
            return self._signed(ADMIN_ID, key)
        with self.tokens.units.read() as unit:
            stored = unit.tokens.by_hash(key)
        if stored is None:
            raise coded_error("auth/unauthorized:unknown_token")
        return self._signed(stored.token_id, key)

    def principal(self, cookie: str) -> Principal | None:
        """The principal of a cookie; None if it is forged or expired, or its token is deleted."""
        token_id, _, rest = cookie.partition(".")
        until, _, _ = rest.partition(".")
        is_whole = token_id.isprintable() and until.isdecimal() and len(until) <= END_CHARS
        if not is_whole or int(until) <= self.tokens.clock.now_ms() // 1000:
            return None
        found = self._key(token_id)
        if found is None:
            return None
        principal, key = found
        expected = self._signature(token_id, until, key)
        return principal if hmac.compare_digest(cookie.encode(), expected.encode()) else None

    def link(self, token: str | None) -> SignInLink:
        """A one-time link for the holder of a token; without tokens, the path of the console."""
        now = self.tokens.clock.now_ms()
        until = now + LINK_S * 1000
        if token is None:
            return SignInLink(path="/", expires_at_ms=until)
        cookie = self.cookie(token)
        for secret in [each for each, (_, until) in list(self._links.items()) if until <= now]:
            self._links.pop(secret, None)
        while len(self._links) >= MAX_LINKS:
            del self._links[next(iter(self._links))]
        secret = secrets.token_urlsafe(32)
        self._links[secret] = (cookie, until)
        return SignInLink(path=f"/signin/{secret}", expires_at_ms=until)

    def use_link(self, secret: str) -> str | None:
        """Redeem a link for its cookie; None if it was used or has expired."""
        cookie, until = self._links.pop(secret, ("", 0))
        return cookie if until > self.tokens.clock.now_ms() else None

    def _signed(self, token_id: str, key: str) -> str:
        until = self.tokens.clock.now_ms() // 1000 + COOKIE_S
        return self._signature(token_id, str(until), key)

    def _key(self, token_id: str) -> tuple[Principal, str] | None:
        if token_id == ADMIN_ID:
            admin = self.tokens.admin_token
            return (TOKEN_ADMIN, hash_token(admin)) if admin else None
        with self.tokens.units.read() as unit:
            stored = unit.tokens.get(token_id)
        return None if stored is None else (stored.principal, stored.token_hash)

    def _signature(self, token_id: str, until: str, key: str) -> str:
        signed = hmac.new(self._secret, f"{token_id}.{until}.{key}".encode(), "sha256")
        return f"{token_id}.{until}.{signed.hexdigest()}"

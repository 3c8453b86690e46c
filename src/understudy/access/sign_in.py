"""Sign-in of browsers: a cookie that stands for a token, and links that work once."""

import hmac
import secrets
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from understudy.access.tokens import TOKEN_ADMIN, TokenService, hash_token
from understudy.core.errors import coded_error
from understudy.core.principal import Principal

# In a cookie: the id of the admin token, which has no record.
ADMIN_ID: Final = "admin"
COOKIE: Final = "understudy_console"
COOKIE_S: Final = 12 * 3600
# More digits than the time at which a cookie ends ever has.
END_CHARS: Final = 12
LINK_S: Final = 10 * 60
MAX_LINKS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInLink:
    """A path of the console that signs in whoever opens it first."""

    path: str
    expires_at_ms: int


@dataclass(frozen=True, slots=True)
class BrowserSignIn:
    """Sign-in of browsers: a cookie that stands for a token, and links that work once.

    A cookie names its token and is signed with the hash of it, so it ends with the token; and with
    a key of this daemon, so that nobody makes one who has read the database. It ends with the
    daemon, too.
    """

    tokens: TokenService
    # The cookie of each link that was not used yet, with the time at which the link ends.
    _links: dict[str, tuple[str, int]] = field(default_factory=dict)
    _secret: bytes = field(default_factory=partial(secrets.token_bytes, 32), repr=False)

    def cookie(self, token: str) -> str:
        """The cookie for a token; raises when nobody has that token."""
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
        """Whom a cookie stands for; None when it is forged, too old, or its token is gone."""
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
        """A link that signs in as whoever has a token; nobody needs one where there are none."""
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
        """The cookie of a link, once; None when it was used or is too old."""
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

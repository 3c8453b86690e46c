"""Tokens: created, shown once, stored as a hash; and parsing of the `Authorization` header."""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Final

from understudy.access.strangers import StrangerCounts
from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.ids import check_caller_id, new_id
from understudy.core.page import Page, PageRequest
from understudy.core.principal import Principal, Role
from understudy.core.records import HIDDEN, OMIT
from understudy.i18n.locales import LOCALES, spoken_in

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

TOKEN_PREFIX: Final = "und_"  # noqa: S105 - the public prefix, not a secret
LOCAL_ADMIN: Final = Principal(user_id="local", role=Role.ADMIN)
TOKEN_ADMIN: Final = Principal(user_id="admin", role=Role.ADMIN)
# The operator of the daemon: the first without tokens, the second with the admin token.
ADMINISTRATORS: Final = frozenset({LOCAL_ADMIN.user_id, TOKEN_ADMIN.user_id})
# Actors that are no people: the daemon, callers without a token, project control, guests of bridges.
RESERVED: Final = re.compile(r"daemon|anonymous|project-control|bridge:.*", re.IGNORECASE)
# The header that names the user for whom an admin acts.
ACT_FOR: Final = "X-Understudy-User-Id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token without its secret."""

    token_id: str
    user_id: str
    role: Role
    created_at_ms: int
    # The language for this user, if a request names none.
    locale: Annotated[str | None, OMIT] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRecord(Token):
    """A token as stored: with the hash of its secret, which no answer shows."""

    token_hash: Annotated[str, HIDDEN] = field(repr=False)

    @property
    def principal(self) -> Principal:
        """The principal of a caller with this token."""
        return Principal(user_id=self.user_id, role=self.role, locale=self.locale)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCreated(Token):
    """A new token. The secret is shown once: a retry with the same idempotency key lacks it."""

    token: Annotated[str | None, OMIT] = field(default=None, repr=False)


def hash_token(token: str) -> str:
    """The stored hash; unsalted SHA-256 suffices, as tokens are long and random."""
    return hashlib.sha256(token.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class TokenService:
    """Creates, lists and deletes tokens, and authenticates callers."""

    units: "Units"
    clock: Clock
    admin_token: str | None
    is_loopback: bool
    strangers: StrangerCounts = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "strangers", StrangerCounts(self.clock))

    def create(
        self, principal: Principal, user_id: str, role: Role, *, locale: str | None = None
    ) -> tuple[TokenRecord, str]:
        """Create a token; returns it with its secret, which is not stored."""
        _check_user_id(user_id, field="user_id", domain="tokens")
        if user_id in ADMINISTRATORS and role is not Role.ADMIN:
            raise coded_error("tokens/reserved_user_id:admin", pointer="/role", user_id=user_id)
        locale = None if locale is None else _check_locale(locale)
        secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
        token = TokenRecord(
            token_id=new_id("tok"),
            token_hash=hash_token(secret),
            user_id=user_id,
            role=role,
            created_at_ms=self.clock.now_ms(),
            locale=locale,
        )
        with self.units.write() as unit:
            unit.tokens.insert(token)
            entry = audit.done(
                principal, "tokens.create", token.token_id, at_ms=token.created_at_ms
            )
            unit.audit.add(entry)
        return token, secret

    def page(self, request: PageRequest) -> Page[TokenRecord]:
        """Tokens, newest first."""
        with self.units.read() as unit:
            return unit.tokens.page(request)

    def delete(self, principal: Principal, token_id: str, *, leave_no_admin: bool = False) -> None:
        """Delete a token, the last one of an admin only on purpose; its calls are refused then."""
        with self.units.write() as unit:
            is_last = not self.admin_token and unit.tokens.lock_admins() == {token_id}
            if is_last and not leave_no_admin:
                raise coded_error("tokens/last_admin_token", token_id=token_id)
            if not unit.tokens.delete(token_id):
                raise coded_error("tokens/token_not_found", token_id=token_id)
            now = self.clock.now_ms()
            unit.audit.add(audit.done(principal, "tokens.delete", token_id, at_ms=now))

    def tokens_exist(self) -> bool:
        """Whether callers need a token: any is stored, or the admin token is set."""
        if self.admin_token:
            return True
        with self.units.read() as unit:
            return unit.tokens.any()

    def may_still(self, unit: "Unit", user_id: str, role: Role) -> bool:
        """Whether a user who was authenticated earlier would still get at least a role."""
        if self.admin_token and user_id in ADMINISTRATORS:
            return True
        if not self.admin_token and not unit.tokens.any():
            return self.is_loopback
        return any(held.includes(role) for held in unit.tokens.roles_of(user_id))

    def role_in_runs(self, unit: "Unit", user_id: str) -> Role:
        """The role of a run that acts for a user: operator, or admin if the user still is one.

        An open daemon makes every caller an admin, but in runs only its own administrators.
        """
        if user_id in ADMINISTRATORS and self.may_still(unit, user_id, Role.ADMIN):
            return Role.ADMIN
        is_admin = Role.ADMIN in unit.tokens.roles_of(user_id)
        return Role.ADMIN if is_admin else Role.OPERATOR

    def authenticate(self, token: str | None, *, act_for: str | None = None) -> Principal:
        """The principal of a caller; an admin may act for another user."""
        principal = self._principal(token)
        if act_for is None:
            return principal
        if principal.role is not Role.ADMIN:
            raise coded_error("auth/forbidden:act_for_others")
        if act_for == principal.user_id:
            return principal
        _check_user_id(act_for, field="X-Understudy-User-Id", domain="auth")
        # Without the admin's locale, which the user may not share.
        return Principal(user_id=act_for, role=principal.role, acting_admin=principal.user_id)

    def _principal(self, token: str | None) -> Principal:
        if token is None:
            if self.is_loopback and not self.tokens_exist():
                return LOCAL_ADMIN
            raise coded_error("auth/unauthorized")
        if self.admin_token and hmac.compare_digest(token.encode(), self.admin_token.encode()):
            return TOKEN_ADMIN
        with self.units.read() as unit:
            stored = unit.tokens.by_hash(hash_token(token))
        if stored is None:
            raise coded_error("auth/unauthorized:unknown_token")
        return stored.principal


def _check_user_id(user_id: str, *, field: str, domain: str) -> None:
    """Refuse an id that nobody can have, or that stands for no person."""
    check_caller_id(user_id, field=field, domain=domain)
    if RESERVED.fullmatch(user_id):
        raise coded_error("tokens/reserved_user_id", pointer=f"/{field}", user_id=user_id)


def _check_locale(tag: str) -> str:
    """The supported language of a tag; `Invalid` for any other, as it is stored for good."""
    spoken = spoken_in(tag)
    if spoken is None:
        raise coded_error("tokens/invalid_locale", pointer="/locale", locales=LOCALES)
    return spoken


def bearer_token(header: str | None) -> str | None:
    """The token of an `Authorization` header; refuses every scheme but `Bearer`."""
    if header is None:
        return None
    scheme, _, token = header.strip().partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise coded_error("auth/unauthorized:malformed")
    return token.strip()

"""The canary share: offers a canary to a stable share of sessions."""

import hmac
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from understudy.core.clock import Clock
from understudy.rollout.evidence import EvidenceSums, sums_of_one
from understudy.rollout.model import PolicyOf, Rollout, Stage
from understudy.sessions.model import Session

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units


EVERY: Final = 100
# Resolution of the share, in parts of ten thousand.
_PLACES: Final = 10_000
SECRET_BYTES: Final = 32


def is_in_share(secret: str, fingerprint: str, session_id: str, percent: int) -> bool:
    """Whether a session is among those that a definition is offered to.

    A larger share includes all sessions of a smaller one, each definition draws independently, and
    without the secret the draw cannot be predicted.
    """
    drawn = hmac.digest(secret.encode(), f"{fingerprint}\0{session_id}".encode(), "sha256")
    place = int.from_bytes(drawn[:8], "big") % _PLACES
    return place * EVERY < percent * _PLACES


def share_of(rollout: Rollout, canary_share_percent: int) -> int:
    """The percentage of sessions that a rollout is offered to in its stage, unless its canary failed."""
    if rollout.status is Stage.ACTIVE:
        return EVERY
    is_tried = rollout.status is Stage.CANARY and rollout.held_reason is None
    return canary_share_percent if is_tried else 0


def has_failed(rollout: Rollout, sums: EvidenceSums) -> bool:
    """Whether a canary run failed in this attempt, so the skill is offered to nobody."""
    return rollout.status is Stage.CANARY and sums.every.canary_failure_count > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryShare:
    """Chooses the sessions that a canary is offered to, by the share in the current policy."""

    policy_of: PolicyOf

    def __call__(self, unit: "Unit", rollout: Rollout, session: Session | None) -> bool:
        """Whether the canary is offered to a session; never without a session, while the rollout is
        held, or after a failed canary run."""
        if session is None:
            return False
        percent = share_of(rollout, self.policy_of(unit).canary_share_percent)
        if not _is_drawn(unit, rollout, session, percent):
            return False
        return not has_failed(rollout, sums_of_one(unit, rollout))


def _is_drawn(unit: "Unit", rollout: Rollout, session: Session, percent: int) -> bool:
    """Whether a session is in the share; no session is before the secret was made."""
    if percent in {0, EVERY}:
        return percent == EVERY
    secret = unit.canary_secret.get()
    if secret is None:
        return False
    return is_in_share(secret, rollout.fingerprint, _root_of(unit, session), percent)


def _root_of(unit: "Unit", session: Session) -> str:
    """The root session: sidechains drawn separately would allow retries until one is drawn."""
    is_root = session.parent_session_id is None
    return session.session_id if is_root else unit.sidechains.root_of(session.session_id)


def make_secret(units: "Units", clock: Clock) -> None:
    """Make the secret if there is none; of several daemons the first one makes it."""
    with units.read() as unit:
        if unit.canary_secret.get() is not None:
            return
    with units.write() as unit:
        unit.canary_secret.add(secrets.token_hex(SECRET_BYTES), at_ms=clock.now_ms())

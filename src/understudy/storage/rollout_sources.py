"""The store of when the learnings end that skills were promoted from."""

from collections.abc import Mapping
from typing import Final

import sqlalchemy as sa

from understudy.storage.schema import learnings, rollouts


class RolloutSourceStore:
    """What the learnings beneath live rollouts say of their time."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def ends(self) -> Mapping[str, int | None]:
        """When each learning of a live rollout ends, by its id; None where nobody said."""
        rows = self._connection.execute(_ENDS)
        return {row.source_learning_id: row.expires_at_ms for row in rows}

    def end_of(self, learning_id: str) -> int | None:
        """When the learning of a live rollout ends; None where nobody said."""
        found: int | None = self._connection.scalar(_END_OF, {"wanted": learning_id})
        return found

    def ending(self, *, until_ms: int, limit: int) -> tuple[tuple[str, int], ...]:
        """The names of live rollouts whose learning ends by then, each with when; the first first."""
        rows = self._connection.execute(_ENDED, {"now_ms": until_ms, "most": limit})
        return tuple((row.skill_name, row.expires_at_ms) for row in rows)

    def ended(self, *, now_ms: int, limit: int) -> tuple[tuple[str, str], ...]:
        """Live rollouts whose learning is past its time: their names, each with the learning's id."""
        rows = self._connection.execute(_ENDED, {"now_ms": now_ms, "most": limit})
        return tuple((row.skill_name, row.source_learning_id) for row in rows)


# As the index knows them, and told apart from what learnings call their own status.
_LIVE: Final = sa.text("rollouts.status <> 'revoked'")
_IS_SOURCE: Final = learnings.c.learning_id == rollouts.c.source_learning_id
_ENDS: Final = (
    sa.select(rollouts.c.source_learning_id, learnings.c.expires_at_ms)
    .join(learnings, _IS_SOURCE, isouter=True)
    .where(_LIVE)
)
_END_OF: Final = _ENDS.with_only_columns(learnings.c.expires_at_ms).where(
    rollouts.c.source_learning_id == sa.bindparam("wanted")
)
_ENDED: Final = (
    sa.select(rollouts.c.skill_name, rollouts.c.source_learning_id, learnings.c.expires_at_ms)
    .join(learnings, _IS_SOURCE)
    .where(_LIVE, learnings.c.expires_at_ms <= sa.bindparam("now_ms"))
    .order_by(learnings.c.expires_at_ms, rollouts.c.skill_name)
    .limit(sa.bindparam("most"))
)

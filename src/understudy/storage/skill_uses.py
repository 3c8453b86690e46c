"""How often skills were used, in a table."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Final

import sqlalchemy as sa

from understudy.skills.uses import Use
from understudy.storage.rows import insert_new
from understudy.storage.schema import skill_uses as uses


class SqlSkillUses:
    """Uses of skills."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def add(self, use: Use) -> bool:
        """Note a use; False when it was noted before."""
        return insert_new(self._connection, uses, asdict(use))

    def get(self, use_id: str) -> Use | None:
        """A use that was noted; None without one."""
        row = self._connection.execute(_ONE, {"use": use_id}).mappings().one_or_none()
        return None if row is None else Use(**row)

    def counts(self, skill_id: str) -> Mapping[int, int]:
        """How often each version of a skill was used."""
        rows = self._connection.execute(_COUNTS, {"skill": skill_id})
        return {version: count for version, count in rows if version is not None}


_ONE: Final = sa.select(*(uses.c[each.name] for each in fields(Use))).where(
    uses.c.use_id == sa.bindparam("use")
)
_COUNTS: Final = (
    sa.select(uses.c.version, sa.func.count())
    .where(uses.c.skill_id == sa.bindparam("skill"))
    .group_by(uses.c.version)
)

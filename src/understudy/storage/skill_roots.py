"""The store of skill roots that operators added."""

from dataclasses import asdict

import sqlalchemy as sa

from understudy.skills.local.service import SkillRoot
from understudy.storage.rows import from_row, insert_new
from understudy.storage.schema import skill_roots
from understudy.storage.visible_connection import VisibleConnection


class SkillRootStore:
    """Skill roots in a table."""

    def __init__(self, connection: VisibleConnection) -> None:
        self._connection = connection

    def add(self, root: SkillRoot) -> bool:
        """Insert a root; False when its owner has the same path already."""
        return insert_new(self._connection, skill_roots, asdict(root))

    def get(self, root_id: str) -> SkillRoot | None:
        """The root with this id; None without one."""
        query = sa.select(skill_roots).where(skill_roots.c.root_id == root_id)
        row = self._connection.execute(query).first()
        return None if row is None else from_row(row, SkillRoot)

    def all(self, owner_id: str | None = None) -> tuple[SkillRoot, ...]:
        """The roots of an owner, or all, in the order they were added; read every second."""
        query = sa.select(skill_roots).order_by(skill_roots.c.created_at_ms, skill_roots.c.root_id)
        if owner_id is not None:
            query = query.where(skill_roots.c.owner_id == owner_id)
        return tuple(from_row(row, SkillRoot) for row in self._connection.execute(query))

    def remove(self, root_id: str) -> None:
        """Delete a root."""
        self._connection.execute(sa.delete(skill_roots).where(skill_roots.c.root_id == root_id))

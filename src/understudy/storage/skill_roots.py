"""The store of skill roots that operators added."""

from understudy.skills.local.service import SkillRoot
from understudy.storage.schema import skill_roots
from understudy.storage.table import Table


class SkillRootStore(Table[SkillRoot]):
    """Skill roots in a table."""

    table = skill_roots
    kind = SkillRoot

    def all(self, owner_id: str | None = None) -> tuple[SkillRoot, ...]:
        """The roots of an owner, or all, in the order they were added; read every second."""
        query = self._select(owner_id=owner_id)
        query = query.order_by(skill_roots.c.created_at_ms, skill_roots.c.root_id)
        return tuple(map(self._read, self._connection.execute(query)))

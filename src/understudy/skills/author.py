"""Who changes a skill: a person, or a run on behalf of one."""

from dataclasses import dataclass

from understudy.core.principal import Principal, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """A caller; agent and run are known only when a run acts."""

    principal: Principal
    agent_id: str | None = None
    run_id: str | None = None

    @property
    def user_id(self) -> str:
        """Who owns what this author makes."""
        return self.principal.user_id

    @property
    def is_admin(self) -> bool:
        """Whether the skills of others are theirs to change as well."""
        return self.principal.role.includes(Role.ADMIN)

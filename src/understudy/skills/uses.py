"""How often which version of a skill was used, and by whom."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One time that a run was given the body of a skill."""

    # Made from the tool call, so that a call that is done again counts once.
    use_id: str
    # None for one that lies in a folder or was promoted.
    skill_id: str | None
    slug: str
    version: int | None
    digest: str
    agent_id: str
    user_id: str
    session_id: str
    run_id: str
    at_ms: int
    # Of the definition that was promoted; None for every other skill.
    fingerprint: str | None = None
    # What that one calls its version.
    version_label: str | None = None

    @property
    def told_version(self) -> int | str | None:
        """The version as whoever asks is told it."""
        return self.version_label if self.version is None else self.version

"""What may be written into a context file, and by whom."""

from dataclasses import dataclass, field
from itertools import islice

from understudy.agents.model import SOUL
from understudy.core.errors import LimitExceeded, Unsafe
from understudy.evolution.imitation import imitating_lines
from understudy.evolution.safety import MAX_FINDINGS, check_safe, wrong
from understudy.evolution.soul import (
    MAX_BYTES,
    SoulLimits,
    check_persons_soul,
    check_soul,
)
from understudy.learnings.guard import NO_LITERALS, Guard


@dataclass(frozen=True, slots=True)
class FileChecks:
    """Refuses what may not be kept; knows the secrets that the operator named."""

    secrets: Guard = NO_LITERALS
    limits: SoulLimits = field(default_factory=SoulLimits)

    def by_person(self, name: str, content: str) -> None:
        """Refuse what not even a person may write; they know what they do with other files."""
        if name == SOUL:
            check_persons_soul(content, limits=self.limits, secrets=self.secrets)

    def copy_by_agent(self, name: str, content: str) -> None:
        """Refuse what an agent may not write into the copy of the user it works for."""
        if name == SOUL:
            check_persons_soul(content, limits=self.limits, secrets=self.secrets)
        else:
            _check_size(name, content)
            check_safe(content, self.secrets, code="agent_file_unsafe")
        _check_headings(name, content)

    def soul_by_agent(
        self, content: str, *, current: str | None, at_start: str | None, identity: str | None
    ) -> None:
        """Refuse what an agent may not make of its soul, which is the same for all its users."""
        check_soul(
            content,
            current=current,
            at_start=at_start,
            identity=identity,
            limits=self.limits,
            secrets=self.secrets,
        )
        _check_headings(SOUL, content)


def _check_size(name: str, content: str) -> None:
    size = len(content.encode(errors="replace"))
    if size > MAX_BYTES:
        raise LimitExceeded(
            "agent_file_too_large",
            domain="agents",
            detail=f"{name} has {size} bytes; an agent may write at most {MAX_BYTES}",
            params={"size_bytes": size, "limit_bytes": MAX_BYTES},
        )


def _check_headings(name: str, content: str) -> None:
    """Refuse to pass for another part of the prompt: what stands there is locked for a reason."""
    lines = islice(imitating_lines(content, name), MAX_FINDINGS)
    errors = tuple(
        wrong("imitates_prompt", f"line {line} stands as the heading of another part of the prompt")
        for line in lines
    )
    if errors:
        code = "soul_unsafe" if name == SOUL else "agent_file_unsafe"
        raise Unsafe(code, domain="evolution", detail=errors[0].detail, errors=errors)

"""Allow and deny lists, and how two of them narrow each other."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

ALL: Final = "*"
CAPABILITY_KINDS: Final = ("skill", "mcp_server", "mcp_tool")
CREDENTIAL_KINDS: Final = ("route", "connector", "connector_credential", "mcp_server")


def normalise(names: Iterable[str]) -> tuple[str, ...]:
    """Trimmed names, without empty ones and duplicates, sorted; `*` stands for everything."""
    cleaned = {name.strip() for name in names} - {""}
    return (ALL,) if ALL in cleaned else tuple(sorted(cleaned))


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """An allow and a deny list: `allow=None` permits all, an empty one none; deny beats allow."""

    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()

    def permits(self, name: str) -> bool:
        """Whether `name` is permitted."""
        return self.refusing(name) is None

    def refusing(self, name: str) -> str | None:
        """The list that refuses `name`: `deny` has it, or `allow` lacks it; None for neither."""
        if ALL in self.deny or name in self.deny:
            return "deny"
        is_allowed = self.allow is None or ALL in self.allow or name in self.allow
        return None if is_allowed else "allow"

    def narrowed_by(self, other: "Gate") -> "Gate":
        """The gate that permits what both permit: allow lists intersect, deny lists unite.

        Disjoint allow lists permit nothing, not everything.
        """
        return Gate(
            allow=_intersect(self.allow, other.allow), deny=normalise((*self.deny, *other.deny))
        )


def _intersect(
    left: tuple[str, ...] | None, right: tuple[str, ...] | None
) -> tuple[str, ...] | None:
    if left is None or left == (ALL,):
        return right
    if right is None or right == (ALL,):
        return left
    return tuple(sorted(set(left) & set(right)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """One gate per kind of thing, such as `skill` or `mcp_server`."""

    gates: Mapping[str, Gate]

    def gate(self, kind: str) -> Gate:
        """The gate for a kind; a kind without one is open."""
        return self.gates.get(kind, Gate())

    def narrowed_by(self, other: "Scope") -> "Scope":
        """The intersection of both scopes, kind by kind."""
        kinds = sorted({*self.gates, *other.gates})
        return Scope(gates={kind: self.gate(kind).narrowed_by(other.gate(kind)) for kind in kinds})

    def to_json(self) -> dict[str, list[str]]:
        """The flat form of the API: `skill_allow`, `skill_deny`, …

        An empty allow list reads as "everything", so a gate that permits nothing is written as a
        deny of everything.
        """
        flat: dict[str, list[str]] = {}
        for kind, gate in self.gates.items():
            if gate.allow == ():
                flat[f"{kind}_allow"] = []
                flat[f"{kind}_deny"] = [ALL]
                continue
            if gate.allow:
                flat[f"{kind}_allow"] = list(gate.allow)
            if gate.deny:
                flat[f"{kind}_deny"] = list(gate.deny)
        return flat

    @classmethod
    def from_json(cls, flat: Mapping[str, Iterable[str]], kinds: Iterable[str]) -> "Scope":
        """Parse the flat form; a missing or empty allow list permits everything."""
        gates = {}
        for kind in kinds:
            allow = normalise(flat.get(f"{kind}_allow", ()))
            deny = normalise(flat.get(f"{kind}_deny", ()))
            if allow or deny:
                gates[kind] = Gate(allow=allow or None, deny=deny)
        return cls(gates=gates)

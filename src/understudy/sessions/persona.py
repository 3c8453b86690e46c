"""Personas: mutable records, and the immutable snapshots that sessions bind."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import FieldError, coded_error
from understudy.core.ids import check_caller_id, new_id
from understudy.core.page import Page, PageRequest
from understudy.core.principal import Principal
from understudy.core.records import JsonObject
from understudy.sessions.known_names import KnownNames
from understudy.sessions.model import DefaultSkill, Persona, PersonaSnapshot
from understudy.sessions.scopes import read_capability_scope

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonaFields:
    """The fields of a persona that a caller sets; None keeps the stored value or the default."""

    display_name: str | None = None
    soul: str | None = None
    capability_scope: Mapping[str, object] | None = None
    default_skills: tuple[DefaultSkill, ...] | None = None
    metadata: JsonObject | None = None


def snapshot_of(persona: Persona, *, bound_at_ms: int) -> PersonaSnapshot:
    """The snapshot of a persona for a session."""
    content = {
        "soul": persona.soul,
        "capability_scope": dict(persona.capability_scope),
        "default_skills": [_given(skill) for skill in persona.default_skills],
    }
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return PersonaSnapshot(
        persona_id=persona.persona_id,
        persona_version=persona.version,
        display_name=persona.display_name,
        soul=persona.soul,
        capability_scope=persona.capability_scope,
        default_skills=persona.default_skills,
        digest=digest,
        bound_at_ms=bound_at_ms,
    )


def _given(skill: DefaultSkill) -> dict[str, str]:
    return {name: value for name, value in asdict(skill).items() if value is not None}


def take_snapshot(unit: "Unit", persona_id: str, *, now_ms: int) -> PersonaSnapshot:
    """The snapshot of a stored persona, or `NotFound`."""
    return snapshot_of(_require(unit, persona_id), bound_at_ms=now_ms)


@dataclass(frozen=True, slots=True)
class PersonaService:
    """Create, read, change and delete personas."""

    units: "Units"
    clock: Clock
    names: KnownNames = field(default_factory=KnownNames)

    def create(
        self, principal: Principal, persona_id: str | None, fields: PersonaFields
    ) -> Persona:
        """Create a persona; a taken id is a conflict."""
        if persona_id is not None:
            check_caller_id(persona_id, field="persona_id", domain="personas")
        now = self.clock.now_ms()
        chosen = persona_id or new_id("per")
        persona = _with(
            Persona(
                persona_id=chosen,
                display_name=chosen,
                soul="",
                capability_scope={},
                default_skills=(),
                metadata={},
                created_at_ms=now,
                updated_at_ms=now,
            ),
            fields,
        )
        self.names.refresh()
        with self.units.write() as unit:
            if not unit.personas.add(persona):
                raise coded_error("personas/persona_already_exists", chosen=chosen)
            self._check(unit, principal, persona)
            self._audit(unit, principal, "personas.create", persona)
        return persona

    def get(self, persona_id: str) -> Persona:
        """One persona, or `NotFound`."""
        with self.units.read() as unit:
            return _require(unit, persona_id)

    def page(self, request: PageRequest, *, query: str | None = None) -> Page[Persona]:
        """Personas by id."""
        with self.units.read() as unit:
            return unit.personas.page(request, query=query)

    def update(self, principal: Principal, persona_id: str, fields: PersonaFields) -> Persona:
        """Change a persona; the version rises only when something changed."""
        self.names.refresh()
        with self.units.write() as unit:
            stored = _require(unit, persona_id)
            changed = _with(stored, fields)
            if changed == stored:
                return stored
            self._check(unit, principal, changed, stored)
            changed = replace(
                changed, version=stored.version + 1, updated_at_ms=self.clock.now_ms()
            )
            unit.personas.update(changed, expected_version=stored.version)
            self._audit(unit, principal, "personas.update", changed)
            return changed

    def warnings(self, principal: Principal, persona: Persona) -> tuple[FieldError, ...]:
        """The skills that a persona names and that are not there yet."""
        scope = read_capability_scope(persona.capability_scope)
        with self.units.read() as unit:
            return self.names.warnings(unit, principal, scope, persona.default_skills)

    def delete(self, principal: Principal, persona_id: str) -> None:
        """Delete a persona; sessions keep the snapshots they bound."""
        with self.units.write() as unit:
            stored = _require(unit, persona_id)
            unit.personas.delete(persona_id)
            self._audit(unit, principal, "personas.delete", stored)

    def _check(
        self, unit: "Unit", principal: Principal, new: Persona, old: Persona | None = None
    ) -> None:
        had = None if old is None else old.capability_scope
        scope = read_capability_scope(new.capability_scope)
        self.names.check_scope(unit, principal, scope, where="capability_scope", had=had)

    def _audit(self, unit: "Unit", principal: Principal, action: str, to: Persona) -> None:
        now = self.clock.now_ms()
        unit.audit.add(audit.done(principal, action, to.persona_id, at_ms=now, version=to.version))


def _require(unit: "Unit", persona_id: str) -> Persona:
    persona = unit.personas.get(persona_id)
    if persona is None:
        raise coded_error("personas/persona_not_found", persona_id=persona_id)
    return persona


def _with(persona: Persona, fields: PersonaFields) -> Persona:
    scope: Mapping[str, Any] = persona.capability_scope
    if fields.capability_scope is not None:
        scope = read_capability_scope(fields.capability_scope).to_json()
    return replace(
        persona,
        display_name=fields.display_name or persona.display_name,
        soul=persona.soul if fields.soul is None else fields.soul,
        capability_scope=scope,
        default_skills=persona.default_skills
        if fields.default_skills is None
        else fields.default_skills,
        metadata=persona.metadata if fields.metadata is None else fields.metadata,
    )

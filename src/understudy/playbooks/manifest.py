"""The manifest of a playbook: its schema, its validation, and the digest that identifies it."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from understudy.core.errors import FieldError, Invalid
from understudy.core.ids import check_caller_id
from understudy.core.mistakes import TOO_MANY, mistakes_of, words_of
from understudy.core.pointer import pointer
from understudy.core.records import JsonObject, ScopeLists
from understudy.core.text import preview
from understudy.guard.scan import scan_text
from understudy.permissions.globs import matches
from understudy.sessions.scopes import read_capability_scope, read_credential_scope

MAX_PHASES: Final = 64
MAX_ITEMS: Final = 64
MAX_BYTES: Final = 64 * 1024
MAX_ERRORS: Final = 50
MAX_KIND_CHARS: Final = 100
MAX_EVIDENCE_ID_CHARS: Final = 500

Texts = Annotated[tuple[str, ...], Field(max_length=MAX_ITEMS)]


class ManifestPart(BaseModel):
    """A part of a manifest; unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PlaybookEvidence(ManifestPart):
    """Proof of work done: a record of the daemon, or an attestation by a person."""

    kind: str = Field(max_length=MAX_KIND_CHARS)
    id: str = Field(max_length=MAX_EVIDENCE_ID_CHARS)
    description: str | None = Field(default=None, max_length=2000)

    @property
    def name(self) -> tuple[str, str]:
        """The identity of the evidence."""
        return self.kind, self.id


class PlaybookInput(ManifestPart):
    """An input value of a start of the playbook."""

    name: str
    description: str = ""
    required: bool = False


class PlaybookRole(ManifestPart):
    """A participant."""

    role_id: str
    purpose: str = ""


class PlaybookPhase(ManifestPart):
    """A phase of the procedure, and its required evidence."""

    phase_id: str
    objective: str
    acceptance_criteria: Texts = ()
    required_evidence: tuple[PlaybookEvidence, ...] = Field(default=(), max_length=MAX_ITEMS)


class ToolPolicy(ManifestPart):
    """The tool policy; when enforced, all other tools are denied to the run and its sidechains."""

    enforce: bool = False
    allow: Texts = ()
    deny: Texts = ()

    def permits(self, tool: str) -> bool:
        """Whether a tool may be used; patterns may contain `*` and `?`."""
        if any(matches(each, tool) for each in self.deny):
            return False
        return not self.allow or any(matches(each, tool) for each in self.allow)


class PlaybookRuntime(ManifestPart):
    """The default route and model of a start."""

    provider: str | None = None
    model: str | None = None


class PlaybookScopes(ManifestPart):
    """The widest scopes of a session, as text and as lists."""

    capability_scope: str | None = None
    credential_scope: str | None = None
    required_capability_scope: ScopeLists | None = None
    required_credential_scope: ScopeLists | None = None


# The lists that are enforced, and how each is read.
SCOPES: Final = {
    "required_capability_scope": read_capability_scope,
    "required_credential_scope": read_credential_scope,
}


class PlaybookManifest(ManifestPart):
    """The content of a version of a playbook; the digest covers all of it."""

    playbook_id: str
    version: str
    title: str = Field(max_length=500)
    objective: str
    description: str | None = None
    inputs: tuple[PlaybookInput, ...] = Field(default=(), max_length=MAX_ITEMS)
    preconditions: Texts = ()
    roles: tuple[PlaybookRole, ...] = Field(default=(), max_length=MAX_ITEMS)
    phases: tuple[PlaybookPhase, ...] = Field(default=(), max_length=MAX_PHASES)
    acceptance_criteria: Texts = ()
    evidence_expectations: Texts = ()
    required_evidence: tuple[PlaybookEvidence, ...] = Field(default=(), max_length=MAX_ITEMS)
    tools: ToolPolicy = Field(default_factory=ToolPolicy)
    runtime_defaults: PlaybookRuntime = Field(default_factory=PlaybookRuntime)
    scopes: PlaybookScopes = Field(default_factory=PlaybookScopes)
    metadata: JsonObject = Field(default_factory=dict)

    @property
    def digest(self) -> str:
        """SHA-256 of the manifest in canonical form; omitted fields count with their defaults."""
        return hashlib.sha256(canonical(self.model_dump(mode="json")).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestCheck:
    """The errors and warnings of a manifest, and its digest if it parses."""

    errors: tuple[FieldError, ...] = ()
    warnings: tuple[FieldError, ...] = ()
    digest: str | None = None

    @property
    def valid(self) -> bool:
        """Whether it can be stored."""
        return not self.errors


def check_manifest(
    document: JsonObject, tool_names: Iterable[str]
) -> tuple[PlaybookManifest | None, ManifestCheck]:
    """Parse and validate a manifest from a request."""
    if len(json.dumps(document)) > MAX_BYTES:
        problem = _wrong("", "manifest_too_large", f"a manifest has at most {MAX_BYTES} bytes")
        return None, ManifestCheck(errors=(problem,))
    try:
        manifest = PlaybookManifest.model_validate_json(json.dumps(document), strict=True)
    except ValidationError as problem:
        errors = tuple(
            _wrong(pointer(map(str, each["loc"])), each["type"], words_of(each))
            for each in mistakes_of(problem)[:MAX_ERRORS]
        )
        too_many = _wrong("", TOO_MANY, f"{problem.error_count()} values are wrong")
        return None, ManifestCheck(errors=errors or (too_many,))
    errors = tuple(_errors(manifest))[:MAX_ERRORS]
    warnings = tuple(_warnings(manifest, tuple(tool_names)))
    return manifest, ManifestCheck(errors=errors, warnings=warnings, digest=manifest.digest)


def canonical(value: Any) -> str:
    """A JSON value in the canonical form of RFC 8785."""
    if isinstance(value, Mapping):
        # Sorted by UTF-16 code units, as the RFC requires.
        keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{_text(key)}:{canonical(value[key])}" for key in keys) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, float):
        return _number(value)
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).encode(errors="replace").decode()


def _number(value: float) -> str:
    """A number in ECMAScript notation."""
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    digits, _, power = repr(value).partition("e")
    if not power:
        return digits
    exponent = int(power)
    if -7 < exponent < 0:
        return f"{value:.{-exponent + len(digits.partition('.')[2])}f}"
    return f"{digits.removesuffix('.0')}e{exponent:+d}"


def _errors(manifest: PlaybookManifest) -> Iterator[FieldError]:
    for name in ("playbook_id", "version"):
        yield from _id_errors(f"/{name}", getattr(manifest, name))
    for name in ("title", "objective"):
        yield from _blank(f"/{name}", getattr(manifest, name))
    for at, phase in enumerate(manifest.phases):
        yield from _id_errors(f"/phases/{at}/phase_id", phase.phase_id)
        yield from _blank(f"/phases/{at}/objective", phase.objective)
        yield from _evidence_errors(f"/phases/{at}/required_evidence", phase.required_evidence)
    yield from _evidence_errors("/required_evidence", manifest.required_evidence)
    yield from _double("/phases", "phase_id", [each.phase_id for each in manifest.phases])
    for at, role in enumerate(manifest.roles):
        yield from _blank(f"/roles/{at}/role_id", role.role_id)
    yield from _double("/roles", "role_id", [each.role_id for each in manifest.roles])
    for at, given in enumerate(manifest.inputs):
        yield from _blank(f"/inputs/{at}/name", given.name)
    yield from _double("/inputs", "name", [each.name for each in manifest.inputs])
    yield from _tool_errors(manifest.tools)
    yield from _scope_errors(manifest.scopes)
    yield from _unsafe(manifest)


def _warnings(manifest: PlaybookManifest, tool_names: tuple[str, ...]) -> Iterator[FieldError]:
    if not manifest.phases:
        yield _wrong("/phases", "no_phases", "it has no phases")
    if not manifest.acceptance_criteria:
        yield _wrong("/acceptance_criteria", "no_criteria", "it does not say when it is done")
    for side, names in (("allow", manifest.tools.allow), ("deny", manifest.tools.deny)):
        for at, name in enumerate(names):
            if not any(matches(name, each) for each in tool_names):
                told = f"no tool here is called {preview(name)!r}"
                yield _wrong(f"/tools/{side}/{at}", "unknown_tool", told)


def _id_errors(where: str, value: str) -> Iterator[FieldError]:
    try:
        check_caller_id(value, field=where.removeprefix("/"), domain="playbooks")
    except Invalid as problem:
        yield _wrong(where, problem.code, problem.detail)


def _blank(where: str, text: str) -> Iterator[FieldError]:
    if not text.strip():
        yield _wrong(where, "blank", "must not be blank")


def _double(where: str, field: str, names: list[str]) -> Iterator[FieldError]:
    for at, name in enumerate(names):
        if name in names[:at]:
            yield _wrong(f"{where}/{at}/{field}", "double", f"{preview(name)!r} is there twice")


def _evidence_errors(where: str, refs: tuple[PlaybookEvidence, ...]) -> Iterator[FieldError]:
    for at, ref in enumerate(refs):
        yield from _blank(f"{where}/{at}/kind", ref.kind)
        yield from _blank(f"{where}/{at}/id", ref.id)
        if ref.name in [each.name for each in refs[:at]]:
            yield _wrong(f"{where}/{at}", "double", f"{ref.kind}:{preview(ref.id)} is there twice")


def _tool_errors(tools: ToolPolicy) -> Iterator[FieldError]:
    for at, name in enumerate(tools.deny):
        if name in tools.allow:
            told = f"{preview(name)!r} is both allowed and denied"
            yield _wrong(f"/tools/deny/{at}", "allowed_and_denied", told)
    for side, names in (("allow", tools.allow), ("deny", tools.deny)):
        for at, name in enumerate(names):
            yield from _blank(f"/tools/{side}/{at}", name)
    if tools.enforce and not tools.allow and not tools.deny:
        yield _wrong("/tools/enforce", "nothing_to_enforce", "there is no tool in allow or deny")


def _scope_errors(scopes: PlaybookScopes) -> Iterator[FieldError]:
    for name, reader in SCOPES.items():
        lists = getattr(scopes, name)
        try:
            if lists is not None:
                reader(lists)
        except Invalid as problem:
            for each in problem.errors:
                below = each.pointer.rpartition("/")[2]
                yield _wrong(f"/scopes/{name}/{below}", each.code, each.detail)


def _unsafe(manifest: PlaybookManifest) -> Iterator[FieldError]:
    """The guard's findings in the prose, all of which may reach a prompt."""
    places, lines = [], []
    for where, text in _prose("", manifest.model_dump(mode="json", exclude={"metadata"})):
        said = text.splitlines()
        lines += said
        places += [where] * len(said)
    for finding in scan_text("\n".join(lines)):
        where = places[min(finding.line, len(places)) - 1] if places else ""
        yield _wrong(where, finding.rule_id, f"the content guard says: {finding.reason}")


def _prose(where: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _prose(f"{where}/{key}", each)
    elif isinstance(value, list):
        for at, each in enumerate(value):
            yield from _prose(f"{where}/{at}", each)


def _wrong(where: str, code: str, detail: str) -> FieldError:
    return FieldError(pointer=f"/manifest{where}", code=code, detail=detail)

"""Which rules of a policy match a candidate, with the trace of every rule."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Final, NamedTuple

from understudy.learnings.model import Candidate, Origin, ReviewAction
from understudy.review.policy import PolicyRule, PublicationSettings, rule_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """One field of a rule that a candidate does not meet."""

    field: str
    wanted: str
    had: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleTrace:
    """The result of one rule for a candidate."""

    # The index of the rule, from 0.
    index: int
    name: str | None
    action: ReviewAction
    # Whether every field matches; a quarantined rule may match and does not decide.
    matched: bool
    quarantined: bool
    # Whether it is the first match that is not quarantined.
    decided: bool
    # Lazy: a dry run makes hundreds of thousands of traces, and reads no mismatches.
    tell: Callable[[], tuple[Mismatch, ...]] = field(default=tuple, repr=False, compare=False)

    @property
    def mismatches(self) -> tuple[Mismatch, ...]:
        """Every field that does not match."""
        return self.tell()


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjustment:
    """A limit that replaced the action of the rules."""

    code: str
    before: ReviewAction
    after: ReviewAction
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The results of all rules in order, and the adjustments after them."""

    rules: tuple[RuleTrace, ...] = ()
    adjustments: tuple[Adjustment, ...] = ()
    # The secret reason that refused the candidate before the rules.
    refused: str | None = None


class RuleField(NamedTuple):
    """How a field of a rule is compared with a candidate."""

    had: Callable[[Candidate], object]
    fits: Callable[[object, object], bool]
    # The wanted and the actual value in words.
    wanted_in_words: Callable[[object], str]
    had_in_words: Callable[[object], str]


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _same(had: Callable[[Candidate], object]) -> RuleField:
    return RuleField(had, lambda has, wanted: has == wanted, _word, _word)


def _ours(has: Callable[[Candidate], bool]) -> RuleField:
    """A field that counts only for candidates of the daemon, since an API caller may claim it."""

    def had(candidate: Candidate) -> object:
        return str(candidate.origin) if has(candidate) else None

    return RuleField(
        had,
        lambda origin, _: origin == Origin.DAEMON,
        lambda _: "from the daemon",
        lambda origin: f"from the {origin}, which anybody can write" if origin else "nothing",
    )


# The fields that narrow a rule; one that is None, or false in `require_…`, does not.
FIELDS: Final[Mapping[str, RuleField]] = {
    "scope_kind": _same(lambda it: it.scope.kind),
    "scope_id": _same(lambda it: it.scope.id),
    "kind": _same(lambda it: it.kind),
    "sensitivity": _same(lambda it: it.sensitivity),
    "derived_from_untrusted": _same(lambda it: it.derived_from_untrusted),
    "client": _same(lambda it: it.source.client),
    "min_confidence": RuleField(
        lambda it: it.confidence,
        lambda has, least: isinstance(has, int) and isinstance(least, int) and has >= least,
        lambda least: f"at least {least}",
        _word,
    ),
    "require_evidence": _ours(lambda it: bool(it.evidence_refs)),
    "require_source_run": _ours(lambda it: it.source.run_id is not None),
    "require_source_session": _ours(lambda it: it.source.session_id is not None),
}


class _Asked(NamedTuple):
    """A rule with its narrowing fields and wanted values, and whether it is quarantined."""

    rule: PolicyRule
    narrowing: tuple[tuple[str, RuleField, object], ...]
    quarantined: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Itself:
    """A cache key by identity: comparing many rules takes longer than evaluating them."""

    settings: PublicationSettings

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and other.settings is self.settings

    def __hash__(self) -> int:
        return id(self.settings)


def trace_rules(
    candidate: Candidate, settings: PublicationSettings, *, may_decide: bool = True
) -> tuple[RuleTrace, ...]:
    """The traces of all rules for a candidate, in order; at most one decides."""
    facts = {name: field.had(candidate) for name, field in FIELDS.items()}
    is_open = may_decide
    traces = []
    for index, (rule, narrowing, is_out) in enumerate(_asked(_Itself(settings))):
        fits = all(field.fits(facts[name], wanted) for name, field, wanted in narrowing)
        decided = is_open and fits and not is_out
        is_open = is_open and not decided
        traces.append(
            RuleTrace(
                index=index,
                name=rule.name,
                action=rule.action,
                matched=fits,
                quarantined=is_out,
                decided=decided,
                tell=partial(_mismatches, narrowing, facts),
            )
        )
    return tuple(traces)


def deciding_rule(candidate: Candidate, settings: PublicationSettings) -> int | None:
    """The index of the deciding rule, or None; a quicker form of the trace."""
    facts = {name: field.had(candidate) for name, field in FIELDS.items()}
    for index, (_, narrowing, is_out) in enumerate(_asked(_Itself(settings))):
        if is_out:
            continue
        for name, condition, wanted in narrowing:
            if not condition.fits(facts[name], wanted):
                break
        else:
            return index
    return None


def _mismatches(
    narrowing: tuple[tuple[str, RuleField, object], ...], facts: Mapping[str, object]
) -> tuple[Mismatch, ...]:
    """The fields of a rule that a candidate does not meet; empty means a match."""
    return tuple(
        Mismatch(
            field=name,
            wanted=field.wanted_in_words(wanted),
            had=field.had_in_words(facts[name]),
        )
        for name, field, wanted in narrowing
        if not field.fits(facts[name], wanted)
    )


# A dry run evaluates the same rules for thousands of candidates.
@lru_cache(maxsize=8)
def _asked(of: _Itself) -> tuple[_Asked, ...]:
    quarantined = {rule_key(name) for name in of.settings.quarantined_rule_names}
    return tuple(
        _Asked(rule, _narrowing(rule), rule.name is not None and rule_key(rule.name) in quarantined)
        for rule in of.settings.rules
    )


def _narrowing(rule: PolicyRule) -> tuple[tuple[str, RuleField, object], ...]:
    """The narrowing fields of a rule, and their wanted values."""
    named = ((name, field, getattr(rule, name)) for name, field in FIELDS.items())
    return tuple(
        (name, field, wanted)
        for name, field, wanted in named
        if wanted is not None and not (name.startswith("require_") and not wanted)
    )

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
    """What one rule had to say."""

    # Its place among the rules, from 0.
    index: int
    name: str | None
    action: ReviewAction
    # Whether every field of it fits; a rule in quarantine may fit and has no say.
    matched: bool
    quarantined: bool
    # Whether it is the first that fits and has a say.
    decided: bool
    # Told only to who asks: a dry run has hundreds of thousands of these, and reads none.
    tell: Callable[[], tuple[Mismatch, ...]] = field(default=tuple, repr=False, compare=False)

    @property
    def mismatches(self) -> tuple[Mismatch, ...]:
        """Every field that does not fit."""
        return self.tell()


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjustment:
    """A step after the rules, which changed what they said."""

    code: str
    before: ReviewAction
    after: ReviewAction
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Every rule once, in order, and then what was changed."""

    rules: tuple[RuleTrace, ...] = ()
    adjustments: tuple[Adjustment, ...] = ()
    # Why it was turned away before any rule was asked.
    refused: str | None = None


class RuleField(NamedTuple):
    """What a field of a rule looks at in a candidate, and whether that is enough."""

    had: Callable[[Candidate], object]
    fits: Callable[[object, object], bool]
    # How what was wanted, and what was there instead, are told.
    wanted_in_words: Callable[[object], str]
    had_in_words: Callable[[object], str]


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _same(had: Callable[[Candidate], object]) -> RuleField:
    return RuleField(had, lambda has, wanted: has == wanted, _word, _word)


def _ours(has: Callable[[Candidate], bool]) -> RuleField:
    """What counts only if the daemon itself wrote it down: anybody may claim it through the API."""

    def had(candidate: Candidate) -> object:
        return str(candidate.origin) if has(candidate) else None

    return RuleField(
        had,
        lambda origin, _: origin == Origin.DAEMON,
        lambda _: "from the daemon",
        lambda origin: f"from the {origin}, which anybody can write" if origin else "nothing",
    )


# The fields that narrow a rule; one that is not set, or false where it asks for something, does not.
FIELDS: Final[Mapping[str, RuleField]] = {
    "scope_kind": _same(lambda it: it.scope.kind),
    "scope_id": _same(lambda it: it.scope.id),
    "kind": _same(lambda it: it.kind),
    "sensitivity": _same(lambda it: it.sensitivity),
    "derived_from_untrusted": _same(lambda it: it.derived_from_untrusted),
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
    """A rule with the fields by which it is narrowed, what each wants, and whether it is set aside."""

    rule: PolicyRule
    narrowing: tuple[tuple[str, RuleField, object], ...]
    quarantined: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Itself:
    """Settings that are the same only as themselves: to compare many rules takes longer than to ask them."""

    settings: PublicationSettings

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and other.settings is self.settings

    def __hash__(self) -> int:
        return id(self.settings)


def trace_rules(
    candidate: Candidate, settings: PublicationSettings, *, may_decide: bool = True
) -> tuple[RuleTrace, ...]:
    """What every rule has to say of a candidate, in order; at most one of them decides."""
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
    """The place of the rule that decides; None where none does. Says the same as the trace, sooner."""
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
    """Every field of a rule that a candidate does not meet; none means that the rule fits."""
    return tuple(
        Mismatch(
            field=name,
            wanted=field.wanted_in_words(wanted),
            had=field.had_in_words(facts[name]),
        )
        for name, field, wanted in narrowing
        if not field.fits(facts[name], wanted)
    )


# A dry run asks the same rules about thousands of candidates.
@lru_cache(maxsize=8)
def _asked(of: _Itself) -> tuple[_Asked, ...]:
    quarantined = {rule_key(name) for name in of.settings.quarantined_rule_names}
    return tuple(
        _Asked(rule, _narrowing(rule), rule.name is not None and rule_key(rule.name) in quarantined)
        for rule in of.settings.rules
    )


def _narrowing(rule: PolicyRule) -> tuple[tuple[str, RuleField, object], ...]:
    """The fields by which a rule is narrowed, and what each wants."""
    named = ((name, field, getattr(rule, name)) for name, field in FIELDS.items())
    return tuple(
        (name, field, wanted)
        for name, field, wanted in named
        if wanted is not None and not (name.startswith("require_") and not wanted)
    )

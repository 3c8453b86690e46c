"""The skills that an agent may use for a user: listed, searched with BM25, and loaded."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog

from understudy.core.errors import DamagedRecord, DatabaseUnavailable, Unavailable, coded_error
from understudy.core.scope import Gate
from understudy.core.text import LATIN, UNSPACED
from understudy.sessions.model import Session, require_session
from understudy.skills.access import AccessReason
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.manifest import Manifest, read
from understudy.skills.bundles.store import BundleChecks, BundleFile
from understudy.skills.catalogue_entry import CatalogueEntry, by_name, permits, skill_gate
from understudy.skills.local.skill import LocalSkill
from understudy.skills.local.skills import LocalSkills
from understudy.skills.managed_entries import ManagedEntries
from understudy.skills.model import SkillOrigin
from understudy.skills.precedence import unshadowed
from understudy.skills.runtime_settings import RuntimeSettings, settings_of
from understudy.skills.sources import NO_OTHERS, OtherSkills

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

log = structlog.get_logger()

# Placeholder for the folder of the skill in its instructions.
BASE_DIR: Final = "{baseDir}"
# The parameters of BM25.
K1: Final = 1.2
B: Final = 0.75
# Scores of a query that names a slug, above any BM25 score.
EXACT_SLUG: Final = 100.0
PART_OF_SLUG: Final = 25.0
# The rest of a longer query is ignored.
MAX_QUERY_CHARS: Final = 2_000
_MAX_TOKEN_CHARS: Final = 64
_MAX_TEXT_CHARS: Final = 4_000
_RUN: Final = re.compile(rf"[{UNSPACED}]+|(?:(?![{UNSPACED}])[^\W_])+")
_FIRST_UNSPACED: Final = re.compile(rf"[{UNSPACED}]")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedSkill:
    """A skill with its bundle, exactly as it was stored."""

    offered: CatalogueEntry
    manifest: Manifest
    # The instructions, with placeholders replaced.
    body: str = field(repr=False)
    bundle: Bundle = field(repr=False)
    # The folder of its files on this machine.
    folder: Path | None
    settings: RuntimeSettings
    # The Python interpreter of the skill's environment; None when nothing was installed for it.
    python: Path | None = None
    # Of the definition that was promoted; None for every other skill.
    fingerprint: str | None = None

    @property
    def files(self) -> tuple[BundleFile, ...]:
        """Its files by path, SKILL.md among them."""
        return tuple(BundleFile(path=path, size=len(data)) for path, data in self.bundle.items())


class Catalogue:
    """Lists and loads skills. Nothing is cached here, so a change is visible at the next turn."""

    def __init__(
        self,
        units: "Units",
        local: LocalSkills,
        checks: BundleChecks,
        python_of: Callable[[str], Path | None] = lambda _: None,
        others: OtherSkills = NO_OTHERS,
    ) -> None:
        self._units = units
        self._local = local
        self._python_of = python_of
        self._checks = checks
        self._kept = ManagedEntries(self._checks)
        self._others = others

    def refresh(self) -> None:
        """Scan the skill roots again if the interval has passed; never while a unit is open."""
        self._local.refresh()
        self._others.refresh()

    def offered(
        self, unit: "Unit", *, agent_id: str, user_id: str, session: Session | None
    ) -> tuple[CatalogueEntry, ...]:
        """The skills that an agent may use for a user, by name, as the session's scope permits.

        Reads rows and no files, so it can be called where a run starts.
        """
        gate = skill_gate(session)
        if gate is None:
            log.warning("skills.scope_unreadable", session_id=session.session_id if session else "")
            return ()
        who = {"agent_id": agent_id, "user_id": user_id}
        kept = self._kept.entries(unit, **who)
        others = unshadowed(unit, self._others.offered(unit, session), kept, **who)
        known = self._local.known(user_id).values()
        reserved = self._others.reserved(unit) if known else ()
        local = unshadowed(unit, known, (*kept, *others), **who, reserved=reserved)
        found = (*kept, *others, *map(_from_folder, local))
        return by_name(one for one in found if _passes(gate, one))

    def from_elsewhere(
        self, unit: "Unit", ref: str, session: Session
    ) -> tuple[CatalogueEntry, ...]:
        """The promoted skill with this full name, even where a stored skill shadows it."""
        gate = skill_gate(session)
        found = (one for one in self._others.offered(unit, session) if one.ref == ref)
        return () if gate is None else tuple(one for one in found if _passes(gate, one))

    def find(
        self, offered: Sequence[CatalogueEntry], query: str, limit: int
    ) -> tuple[CatalogueEntry, ...]:
        """The offered skills that match a query, best first."""
        return rank(offered, query)[: max(limit, 0)]

    def load(self, unit: "Unit", one: CatalogueEntry) -> LoadedSkill:
        """A skill with its bundle; `NotFound` when it is gone or has become unsafe."""
        if one.origin is SkillOrigin.PROMOTED:
            return self._others.load(unit, one)
        if one.skill_id is None or one.version is None:
            return self._load_local(one)
        version = unit.skills.version(one.skill_id, one.version)
        if version is None:
            raise coded_error("skills/skill_not_found", ref=one.slug)
        bundle = self._checks.require(unit, one.slug, version)
        loaded = _loaded(one, bundle, _folder(unit, one.slug, version.number))
        return replace(loaded, python=self._python_of(one.slug))

    def list_for(
        self, *, agent_id: str, user_id: str, session_id: str | None
    ) -> tuple[CatalogueEntry, ...]:
        """`offered` in a unit of its own."""
        self.refresh()
        with self._units.read() as unit:
            session = None if session_id is None else require_session(unit, session_id)
            return self.offered(unit, agent_id=agent_id, user_id=user_id, session=session)

    def _load_local(self, one: CatalogueEntry) -> LoadedSkill:
        opened = self._local.open(one.slug, one.owner_id)
        if opened is None:
            raise coded_error("skills/skill_not_found", ref=one.slug)
        return _loaded(_from_folder(opened.skill), opened.bundle, opened.skill.folder)


def _folder(unit: "Unit", slug: str, number: int) -> Path | None:
    """The folder of a version; None when it cannot be unpacked."""
    try:
        return unit.skill_bundles.folder(slug, number)
    except (DatabaseUnavailable, DamagedRecord):
        raise
    except Unavailable as problem:
        log.warning("skills.no_folder", slug=slug, code=problem.code)
        return None


def _passes(gate: Gate, one: CatalogueEntry) -> bool:
    return permits(gate, slug=one.slug, name=one.name)


def _from_folder(skill: LocalSkill) -> CatalogueEntry:
    """The entry of a local skill: public, or of the operator who added its root."""
    return CatalogueEntry(
        slug=skill.slug,
        name=skill.name,
        description=skill.description,
        origin=SkillOrigin.LOCAL,
        version=None,
        digest=skill.digest,
        skill_id=None,
        reason=AccessReason.PUBLIC if skill.owner_id is None else AccessReason.OWNER,
        owner_id=skill.owner_id,
        when_to_use=skill.manifest.when_to_use,
        context=skill.runtime.context,
    )


def _loaded(one: CatalogueEntry, bundle: Bundle, folder: Path | None) -> LoadedSkill:
    reading = read(bundle.manifest_text)
    body = reading.body
    return LoadedSkill(
        offered=one,
        manifest=reading.manifest,
        body=body if folder is None else body.replace(BASE_DIR, str(folder)),
        bundle=bundle,
        folder=folder,
        settings=settings_of(bundle),
    )


def rank(offered: Sequence[CatalogueEntry], query: str) -> tuple[CatalogueEntry, ...]:
    """The skills that match a query, best first; ties by name."""
    asked = query[:MAX_QUERY_CHARS]
    terms = tuple(dict.fromkeys(tokens(asked)))
    counts = [_counted(_text(one)) for one in offered]
    scores = _bm25(terms, counts)
    total = [
        score + _slug_points(one.slug, asked) for one, score in zip(offered, scores, strict=True)
    ]
    fitting = [at for at, points in enumerate(total) if points > 0]
    fitting.sort(key=lambda at: (-total[at], at))
    return tuple(offered[at] for at in fitting)


def tokens(text: str) -> Iterator[str]:
    """The tokens of a text, case-folded and without accents; bigrams for scripts without spaces."""
    for run in _RUN.findall(_folded(text)):
        if _FIRST_UNSPACED.match(run):
            yield from (run[at : at + 2] for at in range(max(1, len(run) - 1)))
        elif len(run) > 1:
            yield run[:_MAX_TOKEN_CHARS]


def _folded(text: str) -> str:
    lowered = unicodedata.normalize("NFKC", text).casefold().translate(LATIN)
    apart = unicodedata.normalize("NFD", lowered)
    bare = "".join(char for char in apart if unicodedata.category(char) != "Mn")
    return unicodedata.normalize("NFC", bare)


def _text(one: CatalogueEntry) -> str:
    return f"{one.name} {one.slug} {one.description} {one.when_to_use}"[:_MAX_TEXT_CHARS]


@lru_cache(maxsize=2_048)
def _counted(text: str) -> Counter[str]:
    return Counter(tokens(text))


def _bm25(terms: Sequence[str], counts: Sequence[Counter[str]]) -> list[float]:
    lengths = [each.total() for each in counts]
    average = sum(lengths) / len(lengths) if any(lengths) else 1.0
    scores = [0.0] * len(counts)
    for term in terms:
        having = [at for at, each in enumerate(counts) if term in each]
        rarity = math.log((len(counts) - len(having) + 0.5) / (len(having) + 0.5) + 1)
        for at in having:
            often = counts[at][term]
            norm = K1 * (1 - B + B * lengths[at] / average)
            scores[at] += rarity * often * (K1 + 1) / (often + norm)
    return scores


def _slug_points(slug: str, query: str) -> float:
    asked = "-".join(query.casefold().split())
    if slug == asked:
        return EXACT_SLUG
    is_part = len(asked) > 1 and asked in slug
    return PART_OF_SLUG if is_part or slug in query.casefold().split() else 0.0

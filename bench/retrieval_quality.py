"""How well records are found: recall on the public sets, and what a relevance floor keeps out."""

import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Protocol

from bench.report import figure, heading
from understudy.cli.lab import document_of
from understudy.retrieval.collection import Collection
from understudy.retrieval.documents import Scored
from understudy.retrieval.score import relevant
from understudy.retrieval.tuning import TUNING, Tuning
from understudy.review.policy import RetrievalSettings

# Set, how many answers count, and the recall to reach.
TARGETS: Final = (
    ("locomo_obs", 10, 79.0),
    ("locomo_turn", 10, 78.0),
    ("locomo_summ", 10, 86.0),
    ("beam_user", 10, 71.0),
    ("beam_msgs", 10, 54.0),
    ("cmrc_zh", 10, 94.0),
    ("xquad_en", 10, 96.0),
    ("xquad_zh", 5, 92.0),
    ("xquad_vi", 5, 90.0),
    ("agent_mix", 3, None),
)
OFF_TOPIC: Final = frozenset({"offtopic", "none"})
MOST_OFF_TOPIC: Final = 10.0
LEAST_ANSWERABLE: Final = 97.0
TOLD: Final = 10
FLOOR: Final = RetrievalSettings().relevance_floor
# A set of so few questions is always asked whole.
SMALL: Final = 100
# What is left out, one at a time, to see what it is worth.
ABLATIONS: Final[tuple[tuple[str, Tuning], ...]] = (
    ("everything", TUNING),
    ("without similar words", replace(TUNING, similar=0.0)),
    ("without accents", replace(TUNING, accented=0.0)),
    ("without single characters", replace(TUNING, character=0.0)),
    ("without neighbours", replace(TUNING, context=0.0)),
    ("without the subject", replace(TUNING, subject=0.0, subject_name=1.0)),
    ("without the record's time", replace(TUNING, date=0.0)),
    ("without the source", replace(TUNING, source=0.0)),
    ("without general usage", replace(TUNING, general_documents=0.0)),
    ("without extra for all terms", replace(TUNING, all_terms=0.0, whole_query=0.0)),
)


class Answering(Protocol):
    """Questions, and something that answers them; `counted` answers of each count."""

    @property
    def counted(self) -> int: ...

    @property
    def queries(self) -> Sequence[dict[str, Any]]: ...

    def answers(self, query: dict[str, Any], tuning: Tuning) -> list[Scored]:
        """What is found for a question, best first."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Set:
    """Documents and questions; `counted` answers of each count."""

    name: str
    counted: int
    collection: Collection
    queries: Sequence[dict[str, Any]]

    def answers(self, query: dict[str, Any], tuning: Tuning) -> list[Scored]:
        """What is found for a question, best first."""
        found = self.collection.search(query["text"], query["scope"], tuning=tuning)
        return [it for it in found[:TOLD] if it.score > 0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """Recall, and by kind of question whether something was above the floor."""

    recall: float
    answerable: tuple[bool, ...]
    off_topic: tuple[bool, ...]
    cross: tuple[bool, ...]


def main(*, quick: bool = False, corpora: Path, ablations: bool = False) -> bool:
    """Measure every set; tells whether each target was met."""
    folder = corpora / "retrieval"
    heading("Retrieval: recall, and what a relevance floor lets through")
    if not folder.is_dir():
        print(f"  skipped: no test data in {folder}")
        return True
    sets = [load(folder / name, counted) for name, counted, _ in TARGETS]
    if ablations:
        _print_ablations(sets)
    measured = {it.name: measure(it, quick=quick) for it in sets}
    met = [
        figure(f"{name}: recall@{counted}", measured[name].recall * 100, "%", at_least=target)
        for name, counted, target in TARGETS
    ]
    return all([*met, *print_floor(list(measured.values()))])


def print_floor(measured: Sequence[Quality]) -> list[bool]:
    """What a floor keeps out and lets through; tells which targets were met."""
    # Sets without questions that nothing answers tell nothing about a floor.
    mixed = [it for it in measured if it.off_topic]
    share = _shares(mixed)
    print(f"  with a relevance floor of {FLOOR}:")
    figure("something told, asked in another scope", share(lambda it: it.cross), "%")
    off_topic, answerable = share(lambda it: it.off_topic), share(lambda it: it.answerable)
    return [
        figure("something told, off topic", off_topic, "%", at_most=MOST_OFF_TOPIC),
        figure("something told, answerable", answerable, "%", at_least=LEAST_ANSWERABLE),
    ]


def _shares(
    measured: Sequence[Quality],
) -> Callable[[Callable[[Quality], tuple[bool, ...]]], float]:
    def share(of: Callable[[Quality], tuple[bool, ...]]) -> float:
        told = [is_told for it in measured for is_told in of(it)]
        return 100 * sum(told) / max(1, len(told))

    return share


def load(folder: Path, counted: int) -> Set:
    """Read a set."""
    documents = ((line["scope"], document_of(line)) for line in lines(folder / "docs.jsonl.gz"))
    return Set(
        name=folder.name,
        counted=counted,
        collection=Collection(documents),
        queries=lines(folder / "queries.jsonl.gz"),
    )


def measure(of: Answering, *, tuning: Tuning = TUNING, quick: bool = False) -> Quality:
    """Ask every question of a set, or a tenth of them."""
    recalls: list[float] = []
    told: dict[str, list[bool]] = {"answerable": [], "off_topic": [], "cross": [], "other": []}
    for query in of.queries[:: 10 if quick and len(of.queries) > SMALL else 1]:
        found = of.answers(query, tuning)
        wanted = frozenset(query["relevant"])
        if wanted:
            recalls.append(sum(it.id in wanted for it in found[: of.counted]) / len(wanted))
        told[_kind(query)].append(any(relevant(it, FLOOR) for it in found))
    return Quality(
        recall=sum(recalls) / len(recalls),
        answerable=tuple(told["answerable"]),
        off_topic=tuple(told["off_topic"]),
        cross=tuple(told["cross"]),
    )


def _kind(query: dict[str, Any]) -> str:
    if query["relevant"]:
        return "answerable"
    if query["category"] in OFF_TOPIC:
        return "off_topic"
    return "cross" if query["category"] == "cross" else "other"


def _recall(of: Set, tuning: Tuning) -> float:
    """The recall for every other question that has an answer: enough to compare."""
    asked = [it for it in of.queries if it["relevant"]][:: 2 if len(of.queries) > SMALL else 1]
    return measure(replace(of, queries=asked), tuning=tuning).recall


def _print_ablations(sets: Sequence[Set]) -> None:
    print(f"  {'':<32}" + "".join(f"{it.name:>13}" for it in sets))
    for name, tuning in ABLATIONS:
        recalls = [_recall(it, tuning) for it in sets]
        print(f"  {name:<32}" + "".join(f"{recall:>13.3f}" for recall in recalls), flush=True)


def lines(path: Path) -> list[dict[str, Any]]:
    """The objects in a file of JSON lines."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]

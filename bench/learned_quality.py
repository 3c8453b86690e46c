"""How well learnings are found for a prompt: the public sets, each record a learning of its scope.

A learning has its words, when and in which session it was said. It has neither a speaker beside it nor
the passage that it was taken from, and it is never found through its neighbours alone. What these add
is measured in `retrieval_quality`.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.learned_store import LearnedStore, learning
from bench.report import figure, heading
from bench.retrieval_quality import TOLD, Quality, lines, measure, print_floor
from understudy.cli.lab import document_of
from understudy.learnings.model import MAX_CONTENT_CHARS
from understudy.retrieval.documents import Scored
from understudy.retrieval.tuning import Tuning
from understudy.sessions.learning_scopes import session_scope

# Set, how many answers count, and the recall to reach without a floor.
TARGETS: Final = (
    ("locomo_obs", 10, 78.0),
    ("locomo_turn", 10, 78.0),
    ("locomo_summ", 10, 86.0),
    ("xquad_en", 10, 94.0),
    ("xquad_zh", 5, 93.0),
    ("xquad_vi", 5, 90.0),
    ("agent_mix", 3, 99.0),
)
# What the default floor may cost.
MOST_LOST: Final = 2.0
CORPORA: Final = Path(__file__).parents[2] / "shared" / "corpora"


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedSet:
    """Questions that are put to a store of learnings."""

    counted: int
    queries: Sequence[dict[str, Any]]
    store: LearnedStore

    def answers(self, query: dict[str, Any], tuning: Tuning) -> list[Scored]:
        """What a prompt would be told, best first; the store knows no other tuning than ours."""
        found = self.store.ask(query["text"], query["scope"])
        told = [it.scored for it in found.considered if it.is_included and it.scored]
        return told[:TOLD]


def main(*, quick: bool = False, corpora: Path = CORPORA) -> bool:
    """Measure every set; tells whether each target was met."""
    folder = corpora / "retrieval"
    heading("Retrieval through learnings: recall, and what a relevance floor would let through")
    if not folder.is_dir():
        print(f"  skipped: no test data in {folder}")
        return True
    measured = [_measure(folder / name, counted, quick) for name, counted, _ in TARGETS]
    met = [
        figure(f"{name}: recall@{counted}", it.recall * 100, "%", at_least=target - MOST_LOST)
        for (name, counted, target), it in zip(TARGETS, measured, strict=True)
    ]
    print_floor(measured)
    return all(met)


def _measure(folder: Path, counted: int, quick: bool) -> Quality:
    with tempfile.TemporaryDirectory() as made:
        store = LearnedStore(f"sqlite:///{made}/learned.db")
        try:
            store.fill(
                learning(
                    str(line["id"]),
                    str(line["text"])[:MAX_CONTENT_CHARS],
                    session_scope(str(line["scope"])),
                    document_of(line).at_ms,
                    said_in=document_of(line).session,
                )
                for line in lines(folder / "docs.jsonl.gz")
            )
            queries = lines(folder / "queries.jsonl.gz")
            return measure(LearnedSet(counted=counted, queries=queries, store=store), quick=quick)
        finally:
            store.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the questions")
    parser.add_argument("--corpora", type=Path, default=CORPORA, help="where the test data is")
    options = parser.parse_args()
    sys.exit(0 if main(quick=options.quick, corpora=options.corpora) else 1)

"""Doing once at start what would otherwise be done at the cost of the first run."""

from typing import Final

from understudy.daemon.ground import Ground
from understudy.redaction.scrub import scrub_counted
from understudy.retrieval.documents import Document, Field
from understudy.retrieval.score import rank

# Has a bit of everything that is looked at more closely: words, and what may be a phone.
SAMPLE: Final = "Deployed the gateways; call +1 415 555 2671."


def warm_up(ground: Ground) -> None:
    """Let the providers, the scrubber and the scorer make what they need."""
    ground.routes.warm()
    make_tables()


def make_tables() -> None:
    """Let the scrubber and the scorer make their tables."""
    scrub_counted(SAMPLE, pii=True)
    rank("deploy", [Document(id="", fields=(Field(name="", text=SAMPLE),))])

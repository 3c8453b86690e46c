"""Retrieval: how well records are found, and how fast."""

import argparse
import sys
from pathlib import Path
from typing import Final

from bench import learned_quality, learned_speed, retrieval_quality, retrieval_speed

CORPORA: Final = Path(__file__).parents[2] / "shared" / "corpora"


def main(*, quick: bool = False, corpora: Path = CORPORA) -> bool:
    """Measure records by themselves and through learnings; tells whether every target was met."""
    met = [
        retrieval_quality.main(quick=quick, corpora=corpora),
        learned_quality.main(quick=quick, corpora=corpora),
        retrieval_speed.main(quick=quick),
        learned_speed.main(quick=quick),
    ]
    return all(met)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the questions")
    parser.add_argument("--corpora", type=Path, default=CORPORA, help="where the test data is")
    parser.add_argument("--ablations", action="store_true", help="what each ingredient is worth")
    options = parser.parse_args()
    if options.ablations:
        given = {"corpora": options.corpora, "quick": options.quick}
        sys.exit(0 if retrieval_quality.main(**given, ablations=True) else 1)
    sys.exit(0 if main(quick=options.quick, corpora=options.corpora) else 1)

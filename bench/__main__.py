"""`python -m bench [NAME …]` runs some benchmarks, all of them when none is named."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from bench import (
    catalogue,
    console,
    daemons,
    growth,
    guard,
    hooks,
    idle,
    imports,
    kills,
    learning,
    poisoning,
    redaction,
    retrieval,
    runs,
    stalls,
    statements,
    steady,
    steps,
    summary,
    unlearn,
    versus,
    waiting,
)

BENCHMARKS: dict[str, Callable[..., bool | None]] = {
    "summary": summary.main,
    "statements": statements.main,
    "idle": idle.main,
    "imports": imports.main,
    "runs": runs.main,
    "daemons": daemons.main,
    "kills": kills.main,
    "stalls": stalls.main,
    "steps": steps.main,
    "waiting": waiting.main,
    "catalogue": catalogue.main,
    "console": console.main,
    "poisoning": poisoning.main,
    "unlearn": unlearn.main,
    "growth": growth.main,
    "hooks": hooks.main,
    "versus": versus.main,
    "steady": steady.main,
}
# These need the corpora and answer whether every target was met.
CORPORA_BENCHMARKS: dict[str, Callable[..., bool]] = {
    "guard": guard.main,
    "learning": learning.main,
    "redaction": redaction.main,
    "retrieval": retrieval.main,
}
CORPORA = Path(__file__).parents[2] / "shared" / "corpora"


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(prog="bench", description="Run the benchmarks.")
    names = [*BENCHMARKS, *CORPORA_BENCHMARKS]
    parser.add_argument("names", nargs="*", choices=[*names, []], help="default: all")
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    parser.add_argument("--corpora", type=Path, default=CORPORA, help="where the test data is")
    parser.add_argument("--skills", type=Path, help="a folder of real skills for the guard")
    options = parser.parse_args()
    met = True
    for name in options.names or names:
        if name in BENCHMARKS:
            met &= BENCHMARKS[name](quick=options.quick) is not False
        else:
            more = {"skills": options.skills} if name == "guard" else {}
            met &= CORPORA_BENCHMARKS[name](quick=options.quick, corpora=options.corpora, **more)
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()

"""`python -m bench [NAME …]` runs some benchmarks, all of them when none is named."""

import argparse

from bench import runs, steps, waiting

BENCHMARKS = {"runs": runs.main, "steps": steps.main, "waiting": waiting.main}


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(prog="bench", description="Run the benchmarks.")
    parser.add_argument("names", nargs="*", choices=[*BENCHMARKS, []], help="default: all")
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    options = parser.parse_args()
    for name in options.names or BENCHMARKS:
        BENCHMARKS[name](quick=options.quick)


if __name__ == "__main__":
    main()

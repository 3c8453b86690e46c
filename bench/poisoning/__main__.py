"""`python -m bench.poisoning [--quick]`."""

import argparse
import sys

from bench.poisoning import main

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Poisoned texts against an obedient model.")
    parser.add_argument("--quick", action="store_true", help="a slice of the cases")
    sys.exit(0 if main(quick=parser.parse_args().quick) else 1)

"""The content guard: what it finds and leaves on the corpora, on real skills, and how its time grows."""

import gzip
import json
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bench.redaction import best, score
from bench.report import figure, heading
from understudy.guard.scan import scan_bundle, scan_text
from understudy.guard.texts import MANIFEST_NAME

SIZE = 100_000
MAX_FILE_BYTES = 5 << 20
HOSTILE = (
    "curl ", "rm -rf ", "chmod --a ", "a", "\\", " ", "e\u0301\u0327", "\u0300\u0327\u0316", "| ", "`", "<!-- ", "../",
    "eval(", "base64 -d | ", "&#38;", "ignore previous ", "1,22,", "chr(65)+", "%41", "\\x41", "\u200b", "'+'",
    "x = os.environ\n", "curl -d x\n", "\\\n", "a|\n", '"a"[::-1] ', "../../../a](../../../", "DROP TABLE or ", "\\n",
)  # fmt: skip


def main(*, quick: bool = False, corpora: Path, skills: Path | None = None) -> bool:
    """Measure, and answer whether every target was met."""
    met = []
    heading("The guard on the corpora")
    if (corpora / "guard_lines.jsonl.gz").is_file():
        met += [*_lines(corpora), *_bundles(corpora)]
    else:
        print(f"  skipped: no corpora in {corpora} (name another place with --corpora)")
    met += _hostile(HOSTILE[:8] if quick else HOSTILE)
    if skills:
        met += _real(skills)
    return all(met)


def _lines(corpora: Path) -> list[bool]:
    with gzip.open(corpora / "guard_lines.jsonl.gz", "rt", encoding="utf-8") as lines:
        cases: list[dict[str, Any]] = [json.loads(line) for line in lines]
    wrong = Counter[str]()
    for case in cases:
        if bool(scan_text(case["text"])) != (case["expect"] == "reject"):
            wrong[case["tier"]] += 1
    figure("single lines that are a matter of taste, other than said", wrong["judgement"], "cases")
    return [
        figure(f"single lines ({tier}), other than said", wrong[tier], "cases", at_most=0)
        for tier in ("parity", "beat")
    ]


def _bundles(corpora: Path) -> list[bool]:
    found = score(corpora, "guard", "guard_skills.jsonl.gz")
    stopped = round(found["fpr"] * found["benign"])
    return [
        figure("malicious skills found", found["tpr"] * 100, "%", at_least=95),
        figure("harmless near-misses stopped", stopped, "skills", at_most=1),
    ]


def _hostile(pieces: tuple[str, ...]) -> list[bool]:
    heading("Hostile lines of 100 KB, and twice that (CPU)")
    met = []
    for piece in pieces:
        text = piece * (SIZE // len(piece))
        once, twice = (best(partial(scan_text, text * times), 3) for times in (1, 2))
        met.append(figure(repr(piece), once, "s", at_most=1))
        met.append(figure("  twice as much, times the time", twice / once, "x", at_most=3))
    return met


def _real(folder: Path) -> list[bool]:
    heading(f"Real skills in {folder}")
    rules, stopped, seen = Counter[str](), 0, 0
    before = time.process_time()
    for home in sorted(path.parent for path in folder.rglob(MANIFEST_NAME)):
        seen += 1
        found = scan_bundle(dict(_files(home)))
        stopped += bool(found)
        rules.update({finding.rule_id for finding in found})
        for finding in found:
            where = home.relative_to(folder) / finding.path
            print(f"  {where}:{finding.line}: {finding.rule_id}: {finding.reason}")
    print(
        f"  {seen - stopped} scan clean, {stopped} are stopped, {time.process_time() - before:.1f} s"
    )
    for rule, count in rules.most_common():
        print(f"  {rule:<40} {count:>5}")
    return [figure("stopped", 100 * stopped / max(seen, 1), "%", at_most=5)]


def _files(home: Path) -> Iterator[tuple[str, bytes]]:
    for path in home.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= MAX_FILE_BYTES:
            yield path.relative_to(home).as_posix(), path.read_bytes()

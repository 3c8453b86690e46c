"""The scrubber: what it finds and leaves on the corpus, its speed, and how its time grows."""

import gc
import gzip
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from detect_secrets.core.scan import scan_line
from detect_secrets.settings import default_settings

from bench.report import figure, heading
from understudy.redaction.scrub import scrub

HOSTILE = (
    "a", "password=", "password is ", "?key=", "authorization: Bearer ", "-----BEGIN PRIVATE KEY-----",
    "密码是", "?token=a", "authorization: bearer \u200b%41&#65;\\u0041 ", "4111 1111 1111 111", "tel 0912345678 ", "%2541&#65;",
)  # fmt: skip


def main(*, quick: bool = False, corpora: Path) -> bool:
    """Measure, and answer whether every target was met."""
    heading("Redaction on the corpus")
    if not (corpora / "redaction.jsonl.gz").is_file():
        print(f"  skipped: no corpora in {corpora} (name another place with --corpora)")
        return True
    met = [*_quality(corpora), *_speed(corpora, rounds=1 if quick else 5), *_hostile()]
    met += _growth((1, 10) if quick else (1, 10, 100))
    return all(met)


def _quality(corpora: Path) -> list[bool]:
    found = score(corpora, "redact", "redaction.jsonl.gz")
    cut = score(corpora, "preview", "preview.jsonl.gz")
    return [
        figure("recall, no telling part left", found["recall_strict"] * 100, "%", at_least=100),
        figure("recall, not as a whole", found["recall_exact"] * 100, "%", at_least=100),
        figure("false alarms", found["fpr"] * 100, "%", at_most=0.5),
        figure("what must stay stays", found["keep_rate"] * 100, "%", at_least=100),
        figure("previews without a fault", cut["ok"] / cut["n"] * 100, "%", at_least=100),
    ]


def score(corpora: Path, kind: str, corpus: str) -> dict[str, Any]:
    """The corpus' own scorer, on the command that the product offers for it."""
    command = f"{Path(sys.executable).parent / 'understudy'} lab {kind}"
    with tempfile.NamedTemporaryFile(suffix=".json") as result:
        subprocess.run(
            [sys.executable, corpora / "score_security.py", kind, "--quiet", "--cmd", command,
             "--corpus", corpora / corpus, "--json", result.name],
            check=True,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        scored: dict[str, Any] = json.loads(Path(result.name).read_text())
        return scored


def _speed(corpora: Path, rounds: int) -> list[bool]:
    heading("Speed (CPU)")
    with gzip.open(corpora / "redaction.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    size = sum(map(len, texts)) / 1e6

    def theirs() -> None:
        for text in texts:
            for line in text.splitlines():
                list(scan_line(line))

    def ours() -> None:
        for text in texts:
            scrub(text, pii=True)

    with default_settings():
        their_time = best(theirs, rounds)
    our_time = best(ours, rounds)
    figure("detect-secrets", size / their_time, "MB/s")
    figure("ours, personal data too", size / our_time, "MB/s")
    line = "2026-03-02T10:14:55Z INFO http.access GET /v1/runs status=200 took=12ms " + "x" * 128
    figure(
        "a log line of 200 characters",
        best(lambda: scrub(line), rounds * 20) * 1e3,
        "ms",
        at_most=0.2,
    )
    return [figure("times as fast", their_time / our_time, "x", at_least=5)]


def _hostile() -> list[bool]:
    heading("Hostile lines of 100 KB (CPU)")
    # What the bench itself has in memory is not to be gone through at their cost.
    gc.collect()
    gc.freeze()
    return [
        figure(
            repr(piece),
            best(partial(scrub, piece * (100_000 // len(piece)), pii=True), 1),
            "s",
            at_most=1,
        )
        for piece in HOSTILE
    ]


def _growth(sizes: tuple[int, ...]) -> list[bool]:
    heading("Growth (CPU per 50 KB of mixed text)")
    piece = (
        "The build of 2026-03-02 failed on 10.0.0.5: token=k8Jq2Zx9Lm4Tv7Bd1W for bob@example.com,"
        " call +33612345678. Retry with the same key, then look at /var/log/app.log line 42.\n"
    )
    text = piece * (50_000 // len(piece))
    first = best(lambda: scrub(text, pii=True), 3)
    met = []
    for size in sizes:
        spent = best(partial(scrub, text * size, pii=True), 1) / size
        met.append(
            figure(f"{size} x", spent * 1e3, "ms", baseline=first * 1e3, at_most=first * 3e3)
        )
    return met


def best(work: Callable[[], object], rounds: int) -> float:
    """The least processor time that the work took, in seconds."""
    work()
    times = []
    for _ in range(rounds):
        before = time.process_time()
        work()
        times.append(time.process_time() - before)
    return min(times)

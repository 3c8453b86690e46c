"""The examples of the rules, as the scan gets them."""

import base64
import re
from collections.abc import Callable, Mapping

from understudy.guard.detectors import CHECKS, FileDetector
from understudy.guard.rule import Detector, Finding, GuardRule
from understudy.guard.scan import MAX_TEXT_CHARS, scan_bundle

# Examples are written so that neither a scanner nor a spelling checker takes them for real.
_WRITTEN: Mapping[str, Callable[[str], str]] = {
    r"<b64>(.*?)</b64>": lambda text: base64.b64encode(text.encode()).decode(),
    r"<hex>(.*?)</hex>": lambda text: text.encode().hex(),
    r"<wide>()": lambda _: " " * 250,
    r"<long>()": lambda _: "\n" * (MAX_TEXT_CHARS + 1),
    r"<>()": lambda _: "",
}


def written_out(example: str) -> str:
    """An example with what its marks stand for."""
    for mark, write in _WRITTEN.items():
        pieces = re.split(mark, example)
        # What stood between the marks is every second piece.
        example = "".join(write(text) if at % 2 else text for at, text in enumerate(pieces))
    return example


def found_in(rule: GuardRule, example: str) -> list[Finding]:
    """What the rule finds in one of its examples."""
    text = written_out(example)
    if rule.detector is Detector.PATH:
        files = {text: b""}
    elif rule.detector is Detector.UNREAD:
        files = {"notes.md": text.encode()}
    elif rule.detector and isinstance(CHECKS[rule.detector], FileDetector):
        files = {"bin/tool": text.encode("latin-1")}
    else:
        files = {"setup.py" if rule.path else "SKILL.md": text.encode()}
    return [finding for finding in scan_bundle(files) if finding.rule_id == rule.id]

"""Words whose letters are kept apart, so that a reader sees them and a search does not."""

import re
from typing import Final

# `p.a.s.s.w.o.r.d`, `k-e-y`: single characters with the same sign, or the same gap, between them.
_APART: Final = re.compile(
    r"(?<![\w.·*/|-])[^\W\d_](?P<gap>[.·*/|_-]|[ \u00a0]{1,2})[^\W\d_](?:(?P=gap)[^\W_]){2,}(?!\w)"
)


def read_together(text: str) -> str:
    """The text with such words written as one."""
    return _APART.sub(_joined, text)


def _joined(found: re.Match[str]) -> str:
    return found[0].replace(found["gap"], "")

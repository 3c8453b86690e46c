"""How much a record holds at most: no more is made, and what has more is not believed when read."""

from typing import Final

from understudy.core.text import ELLIPSIS, PREVIEW_CHARS

SUMMARY_CHARS: Final = 480
# What was cut has a mark behind it.
MAX_SUMMARY_CHARS: Final = SUMMARY_CHARS + len(ELLIPSIS)
MAX_PREVIEW_CHARS: Final = PREVIEW_CHARS + len(ELLIPSIS)
MAX_FAILURE_MARKERS: Final = 8
MAX_MARKER_CHARS: Final = 200
MAX_ARTIFACT_IDS: Final = 1000
MAX_ID_CHARS: Final = 256
MAX_SCOPE_KEYS: Final = 256
MAX_SCOPE_CHARS: Final = 512

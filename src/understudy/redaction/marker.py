"""What stands in place of what was taken out."""

import re
from typing import Final

MARKER_PATTERN: Final = r"<redacted:[a-z-]{1,32}>"
MARKER: Final = re.compile(MARKER_PATTERN)


def marker(kind: str) -> str:
    """What stands in place of a secret of this kind."""
    return f"<redacted:{kind}>"

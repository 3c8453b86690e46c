"""How a tool's name is spelled for models, whose APIs take few characters."""

import hashlib
import re
from typing import Final

from understudy.core.text import ELLIPSIS

MAX_WIRE_CHARS: Final = 64
SEPARATOR: Final = "__"
HASH_CHARS: Final = 10
MAX_QUOTED_CHARS: Final = 40
_UNFIT: Final = re.compile(r"[^a-zA-Z0-9_-]")


def quoted(name: str) -> str:
    """A name as a model gave it, blanks around it included, in quotes and not too long."""
    return repr(name if len(name) <= MAX_QUOTED_CHARS else name[:MAX_QUOTED_CHARS] + ELLIPSIS)


def wire_name(name: str) -> str:
    """The name in at most 64 letters, digits, `_` and `-`; `server/tool` becomes `server__tool`.

    A name that loses something by this ends in a hash of the whole, so that two names which differ
    only in what was lost stay apart.
    """
    spelled = name.replace("/", SEPARATOR, 1)
    fitting = _UNFIT.sub("_", spelled)
    if fitting == spelled and len(spelled) <= MAX_WIRE_CHARS:
        return spelled
    mark = hashlib.sha256(name.encode()).hexdigest()[:HASH_CHARS]
    return f"{fitting[: MAX_WIRE_CHARS - HASH_CHARS - 1]}_{mark}"

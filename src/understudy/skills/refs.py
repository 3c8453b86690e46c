"""How a skill is named by whoever asks for it: by its id, its slug, or where it comes from."""

import re
from typing import Final

from understudy.skills import caller_errors
from understudy.skills.slug import slug_refused

LOCAL: Final = "local:"
PROMOTED: Final = "promoted:"
ID_PREFIX: Final = "skl_"
_ID: Final = re.compile(rf"{ID_PREFIX}[A-Za-z0-9_-]{{1,100}}")


def is_id(ref: str) -> bool:
    """Whether this is an id, which unlike a slug cannot be guessed; `Invalid` when it is neither."""
    if _ID.fullmatch(ref):
        return True
    if slug_refused(ref) is not None and not ref.startswith((LOCAL, PROMOTED)):
        raise caller_errors.bad_ref(ref)
    return False

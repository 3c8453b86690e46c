"""Base64 as it stands in texts: either alphabet, with or without padding."""

import base64
import binascii


def decode_base64(run: str) -> bytes | None:
    """The bytes that a run of Base64 stands for, in the standard or the URL alphabet; None for no Base64."""
    plain = run.rstrip("=").replace("-", "+").replace("_", "/")
    if len(plain) % 4 == 1:
        return None
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None

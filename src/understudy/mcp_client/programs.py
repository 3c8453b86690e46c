"""What a server's program is given of the daemon's environment."""

from collections.abc import Mapping
from typing import Final

# Where programs and homes are, and how to write; no credential is called like these.
PASSED_ON: Final = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER")


def base_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The few variables that every program needs."""
    return {name: environment[name] for name in PASSED_ON if name in environment}

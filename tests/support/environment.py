"""An environment in which nothing of the developer's own set-up leaks into a test."""

from collections.abc import Mapping

_OURS = ("UNDERSTUDY_", "OPENAI_", "ANTHROPIC_")
_KEPT = "UNDERSTUDY_TEST_"


def without_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """A copy without our settings, model keys, proxies and PostgreSQL defaults."""
    return {name: value for name, value in environment.items() if not _is_setting(name)}


def _is_setting(name: str) -> bool:
    if name.startswith(_KEPT):
        return False
    lowered = name.lower()
    return (
        name.startswith(_OURS)
        or name.endswith("_API_KEY")
        or lowered in ("http_proxy", "https_proxy", "all_proxy")
        or name in ("PGHOST", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE", "PGSERVICE")
    )

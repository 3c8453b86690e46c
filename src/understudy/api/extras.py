"""Modules over packages of an extra: loaded with the first call, and maybe not there."""

from importlib import import_module
from types import ModuleType

from understudy.core.errors import coded_error


def module_with(extra: str) -> ModuleType:
    """The views that need an extra of the same name as its package."""
    try:
        return import_module(f"understudy.api.views.{extra}")
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != extra:
            raise
        raise coded_error("api/extra_missing", extra=extra) from None

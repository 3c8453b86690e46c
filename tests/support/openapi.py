"""The OpenAPI document as it is committed, for tests that walk its operations.

Making it takes seconds of every worker; `tests/api/test_openapi.py` shows that the two are equal.
"""

import json
from pathlib import Path
from typing import Any

COMMITTED = Path(__file__).parents[2] / "docs/reference/openapi.json"


def committed_document() -> Any:
    """The document, as it is read by a program."""
    return json.loads(COMMITTED.read_text())

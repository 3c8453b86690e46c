"""A daemon starts without what only some of its features need."""

import subprocess
import sys

PROBE = """
import sys
import understudy.daemon.serve
from understudy.api.app import ROUTERS

late = ("alembic", "anthropic", "cryptography", "mcp", "openai", "phonenumbers", "pydantic_ai")
loaded = [name for name in late if name in sys.modules]
built = [each.path for router in ROUTERS for each in router.routes if "app" in vars(each)]
sys.exit(f"loaded {loaded}, built {built}" if loaded or built else 0)
"""


def test_a_daemon_imports_no_feature_and_builds_no_route_before_it_is_used() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROBE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr

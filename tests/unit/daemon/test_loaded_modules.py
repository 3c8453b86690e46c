"""A daemon starts without what only some of its features need."""

import subprocess
import sys
from pathlib import Path

PROBE = """
import sys
import understudy.daemon.serve
from understudy.api.app import ROUTERS

late = (
    "a2a",
    "alembic",
    "anthropic",
    "cryptography",
    "mcp",
    "openai",
    "phonenumbers",
    "pydantic_ai",
)
loaded = [name for name in late if name in sys.modules]
built = [each.path for router in ROUTERS for each in router.routes if "app" in vars(each)]
sys.exit(f"loaded {loaded}, built {built}" if loaded or built else 0)
"""

STARTS = """
import sys
from pathlib import Path
from understudy.daemon.wiring import Daemon
from understudy.guard.scan import _all_matchers
from understudy.settings import Flags, load_settings

daemon = Daemon(load_settings(Flags(home=Path(sys.argv[1])), {}))
daemon.migrate()
daemon.services.agents.service.ensure_built_in()
daemon.services.skills.startup()
compiled = _all_matchers.cache_info().misses
if compiled:
    sys.exit("the guard compiled its rules")
print("alembic" in sys.modules)
"""


def test_a_daemon_imports_no_feature_and_builds_no_route_before_it_is_used() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROBE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_only_a_new_home_needs_migrations_and_none_a_scan(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STARTS, str(tmp_path)]
    migrated = [subprocess.check_output(command, text=True).strip() for _ in range(2)]

    assert migrated == ["True", "False"]

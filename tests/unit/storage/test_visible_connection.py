"""Only what opens a unit of work, or works on no rows of users, has a connection that sees all."""

import ast
from pathlib import Path

from understudy import storage

FOLDER = Path(storage.__file__).parent
# Engines and connections of SQLAlchemy are named in these.
UNRESTRICTED = {
    "engine.py",
    "migrate.py",
    "postgres.py",
    "unit.py",
    # Renumbers events at the start, before anybody calls.
    "feed.py",
    # Vacuums the files; reads no row.
    "unlearn_compaction.py",
    "visible_connection.py",
}


def test_stores_work_on_connections_that_are_narrowed() -> None:
    naming = {
        path.name
        for path in FOLDER.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.Attribute) and node.attr in {"Connection", "Engine"})
        or (isinstance(node, ast.ImportFrom) and "sqlalchemy.engine" in (node.module or ""))
        or (isinstance(node, ast.alias) and node.name in {"Connection", "Engine", "create_engine"})
    }

    assert naming == UNRESTRICTED

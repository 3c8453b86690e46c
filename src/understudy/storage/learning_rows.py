"""What rows of candidates and of learnings have in common."""

from dataclasses import asdict
from hashlib import sha256
from typing import Any, Final

import sqlalchemy as sa

from understudy.learnings.model import Candidate, Kind, Learning, Sensitivity
from understudy.sessions.learning_scopes import LearningScope
from understudy.storage.learning_json import read_evidence, read_source
from understudy.storage.search_text import search_text
from understudy.storage.typed_json import fields_of, list_of

SAID: Final = {
    "content": str,
    "semantic_key": str,
    "confidence": int,
    "derived_from_untrusted": bool,
}
ABOUT: Final = {"subject_key": str}


def digest_of(key: str) -> str:
    """A key of any length as something that an index takes."""
    return sha256(key.encode(errors="surrogatepass")).hexdigest()


def without_search(table: sa.Table) -> tuple[sa.Column[Any], ...]:
    """The columns that a record is read from."""
    return tuple(column for column in table.c if column.name != "search")


def shared_columns(record_id: str, record: Candidate | Learning) -> dict[str, Any]:
    """The columns that both tables have."""
    scope, source = record.scope, record.source
    found_by = (record_id, scope.key, record.kind, record.content, source.run_id or "")
    return {
        "scope_key": scope.key,
        "kind": str(record.kind),
        "sensitivity": str(record.sensitivity),
        "key_digest": digest_of(record.semantic_key),
        "created_at_ms": record.created_at_ms,
        "expires_at_ms": record.expires_at_ms,
        "search": search_text(*found_by),
        "version": record.version,
    }


def shared_body(record: Candidate | Learning) -> dict[str, Any]:
    """What both bodies say."""
    return {
        **{name: getattr(record, name) for name in (*SAID, *ABOUT)},
        "source": asdict(record.source),
        "evidence_refs": [asdict(ref) for ref in record.evidence_refs],
    }


def read_shared(row: Any) -> dict[str, Any]:
    """The fields of a record that both tables keep."""
    return {
        **fields_of(row.body, SAID, optional=False),
        **fields_of(row.body, ABOUT, optional=True),
        "scope": LearningScope.from_key(row.scope_key),
        "kind": Kind(row.kind),
        "sensitivity": Sensitivity(row.sensitivity),
        "source": read_source(row.body["source"]),
        "evidence_refs": tuple(map(read_evidence, list_of(row.body["evidence_refs"]))),
        "created_at_ms": row.created_at_ms,
        "expires_at_ms": row.expires_at_ms,
        "version": row.version,
    }

"""Records that come back in a PUT as a GET showed them."""

from understudy.core.errors import Invalid


def check_same_id(field: str, sent: str | None, addressed: str) -> None:
    """Refuse a body that names another record than the path does."""
    if sent is not None and sent != addressed:
        raise Invalid(
            "id_mismatch",
            domain="api",
            pointer=f"/{field}",
            detail=f"{field} is not the id in the path; an id cannot be changed",
        )

"""What is wrong with a file of a skill, and where."""

from dataclasses import dataclass

from understudy.core.errors import FieldError


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong, on a line that counts from 1; one that is not fatal is a warning."""

    code: str
    line: int
    detail: str
    fatal: bool = True

    def __str__(self) -> str:
        return f"line {self.line}: {self.detail}"

    def at(self, pointer: str) -> FieldError:
        """The same as an error of a request."""
        return FieldError(pointer=pointer, code=self.code, detail=str(self))

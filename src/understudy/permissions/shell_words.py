"""Splits a command line into commands and words, as a shell does.

It finds nested commands, too. The result of an expansion is not known beforehand: such a word is
open. The time is linear in the text.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

_OPERATOR: Final = re.compile(r"&>>|&>|<<<|<<-|<<|>>|>&|>\||<&|<>|<|>")
_DOCUMENTS: Final = ("<<", "<<-")
# Two brackets may be arithmetic, where `<<` begins no here-document.
_ARITHMETIC: Final = "))"
_ENDS_COMMAND: Final = frozenset(";&|\n")
_ENDS_WORD: Final = frozenset(" \t")
_EXPANDS: Final = frozenset("{*?[")
# Words that look like expansions, but are none.
_AS_IT_IS: Final = frozenset({"{", "{}", "[", "[["})
_ANSI_QUOTED: Final = re.compile(r"'(?:[^'\\]|\\.)*'?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Word:
    """A word without its quotes; `is_open` if an expansion decides its value."""

    text: str
    is_open: bool = False


Command = list[Word]
UNKNOWN: Final = Word("$", is_open=True)


@dataclass(slots=True)
class _Piece:
    """A word that is being read."""

    letters: list[str] = field(default_factory=list)
    is_open: bool = False
    was_quoted: bool = False


@dataclass(slots=True)
class _Frame:
    """A command that is being read; it may contain others."""

    # Closing character for each open quote or bracket.
    kind: str = ""
    words: Command = field(default_factory=list)
    piece: _Piece | None = None
    in_quotes: bool = False
    # The redirection operator whose file the next word names.
    redirection: str = ""


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.found: list[Command] = []
        self.frames = [_Frame()]
        self.within: Counter[str] = Counter()
        # Delimiters of the here-documents that start on the next line, and whether tabs are stripped.
        self.documents: list[tuple[_Piece, str]] = []

    @property
    def frame(self) -> _Frame:
        return self.frames[-1]

    @property
    def piece(self) -> _Piece:
        if self.frame.piece is None:
            self.frame.piece = _Piece()
        return self.frame.piece

    def scan(self) -> list[Command]:
        while self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            if not self._expansion(char):
                (self._quoted if self.frame.in_quotes else self._plain)(char)
        while len(self.frames) > 1:
            self._close()
        self._end_command()
        return self.found

    def _expansion(self, char: str) -> bool:
        """Expansions that also happen within double quotes."""
        if char == "`":
            if self.frame.kind == "`":
                self._close()
            else:
                self._open("`")
        elif char == "$" and self._next() == "(":
            self.at += 1
            self._open(")")
        elif char == "$":
            self.piece.is_open = True
            self.piece.letters.append(char)
            if self._next() == "'" and not self.frame.in_quotes:
                self._skip(_ANSI_QUOTED)
        elif char == "\\" and self._next() == "\n":
            self.at += 1
        else:
            return False
        return True

    def _quoted(self, char: str) -> None:
        if char == '"':
            self.frame.in_quotes = False
        elif char == "\\" and self._next() in '$`"\\':
            self._escaped()
        else:
            self.piece.letters.append(char)

    def _plain(self, char: str) -> None:
        if char in _ENDS_WORD:
            self._end_word()
        elif char in "<>" or (char == "&" and self._next() == ">"):
            self._redirect()
        elif char in _ENDS_COMMAND:
            self._end_command()
            if char == "\n":
                self._skip_documents()
        elif char in "()":
            self._parenthesis(char)
        elif char == "#" and self.frame.piece is None:
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end
        else:
            self._letter(char)

    def _letter(self, char: str) -> None:
        if char == "\\":
            self._escaped()
        elif char == '"':
            self.piece.was_quoted = True
            self.frame.in_quotes = True
        elif char == "'":
            self.piece.was_quoted = True
            end = self.text.find("'", self.at)
            end = len(self.text) if end < 0 else end
            self.piece.letters.append(self.text[self.at : end])
            self.at = end + 1
        else:
            self.piece.is_open |= char in _EXPANDS
            self.piece.letters.append(char)

    def _escaped(self) -> None:
        self.piece.was_quoted = True
        self.piece.letters.append(self._next())
        self.at += 1
        if self._next(-1) == "`" and self.within["`"]:
            # Nested backquotes are not followed: the command is unknown.
            self.found.append([UNKNOWN])

    def _parenthesis(self, char: str) -> None:
        if char == "(":
            self._end_command()
            self._open(")")
            self.frames[-2].piece = None
        elif self.frame.kind.startswith(")"):
            self._close()
        else:
            self._end_command()

    def _redirect(self) -> None:
        operator = _OPERATOR.match(self.text, self.at - 1)
        assert operator is not None  # noqa: S101 - it begins with one
        if self.frame.piece is not None and "".join(self.frame.piece.letters).isdigit():
            self.frame.piece = None
        self._end_word()
        self.at = operator.end()
        if operator[0] in "<>" and self._next() == "(":
            self.at += 1
            self._open(")")
        elif not (operator[0] in _DOCUMENTS and self.within[_ARITHMETIC]):
            self.frame.redirection = operator[0]

    def _open(self, kind: str) -> None:
        self.piece.is_open = True
        if kind == ")" and self._next() == "(":
            kind = _ARITHMETIC
        self.within[kind] += 1
        self.frames.append(_Frame(kind=kind))

    def _close(self) -> None:
        self._end_command()
        self.within[self.frames.pop().kind] -= 1

    def _end_word(self) -> None:
        frame, piece = self.frame, self.frame.piece
        if piece is None:
            return
        frame.piece = None
        if frame.redirection in _DOCUMENTS:
            self.documents.append((piece, "\t" if frame.redirection == "<<-" else ""))
        elif not frame.redirection:
            text = "".join(piece.letters)
            frame.words.append(Word(text, piece.is_open and text not in _AS_IT_IS))
        frame.redirection = ""

    def _end_command(self) -> None:
        self._end_word()
        frame = self.frame
        frame.redirection = ""
        if frame.words:
            self.found.append(frame.words)
            frame.words = []

    def _skip_documents(self) -> None:
        for piece, blanks in self.documents:
            end, begin = "".join(piece.letters), self.at
            while self.at < len(self.text):
                line = self._line()
                if line.lstrip(blanks) == end:
                    break
            body = self.text[begin : self.at]
            if not piece.was_quoted and ("$(" in body or "`" in body):
                self.found.append([UNKNOWN])
        self.documents = []

    def _line(self) -> str:
        begin = self.at
        end = self.text.find("\n", begin)
        self.at = len(self.text) if end < 0 else end + 1
        return self.text[begin : self.at].removesuffix("\n")

    def _next(self, ahead: int = 0) -> str:
        return self.text[self.at + ahead : self.at + ahead + 1]

    def _skip(self, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self.text, self.at)
        self.at = found.end() if found else self.at


def commands(text: str) -> list[Command]:
    """Every command in a command line, nested ones before their parents."""
    return _Scanner(text).scan()

"""Working memory: what one loop has seen, within a token budget (after Memex: compressed to pointers, never lost).

The newest pieces are shown, a long one by its beginning; older ones become a pointer, an id with the first line,
and where even these do not fit, nothing. ``read(id)`` gives each back, character for character.
"""

import re

from pointwork.errors import UsageError
from pointwork.text import count_tokens_estimate

LINE = 80  # characters of the first line in a pointer
WHOLE = 700  # characters of a piece that are shown at most


class Working:
    """Pieces of text in the order they came.

    Args:
        budget_tokens: of all that is shown, by ``count_tokens_estimate``.
        whole: characters of one piece that are shown at most.

    Raises:
        UsageError: a limit below 1.
    """

    def __init__(self, budget_tokens: int, *, whole: int = WHOLE) -> None:
        if budget_tokens < 1 or whole < 1:
            raise UsageError(f"working memory needs room: budget_tokens={budget_tokens}, whole={whole}")
        self._budget, self._whole = budget_tokens, whole
        self._texts: list[str] = []

    def __len__(self) -> int:
        return len(self._texts)

    def add(self, text: str) -> str:
        """Keep a piece; its id: ``w1``, ``w2`` …"""
        self._texts.append(text)
        return f"w{len(self._texts)}"

    def read(self, id: str, start: int = 0, characters: int | None = None) -> str:
        """A piece exactly as it was added; or so many of its characters from ``start`` on.

        Raises:
            UsageError: there is none of that id, or ``start`` lies outside it.
        """
        number = re.fullmatch(r"w([1-9]\d{0,6})", id.strip().strip("[]"))
        if number is None or int(number[1]) > len(self._texts):
            known = f"w1 to w{len(self._texts)}" if self._texts else "none"
            raise UsageError(f"working memory has no piece {id!r}; there are {known}")
        text = self._texts[int(number[1]) - 1]
        if not 0 <= start <= len(text):
            raise UsageError(f"piece {id} has {len(text):,} characters; it can not be read from {start}")
        return text[start:] if characters is None else text[start : start + characters]

    def shown(self) -> list[str]:
        """Each piece as it is shown now, the oldest first; an empty text where there is no room for a pointer."""
        left = self._budget
        found: list[str] = []
        for number in range(len(self._texts), 0, -1):
            forms = (self._beginning(number), self._pointer(number), f"[w{number}]", "")
            form = next(form for form in forms if count_tokens_estimate(form) <= left)
            left -= count_tokens_estimate(form)
            found.append(form)
        return found[::-1]

    @property
    def hidden(self) -> bool:
        """Whether a part of some piece is not shown."""
        return any(form != text for form, text in zip(self.shown(), self._texts, strict=True))

    def _beginning(self, number: int) -> str:
        text = self._texts[number - 1]
        if len(text) <= self._whole:
            return text
        return f"{text[: self._whole]}… [w{number}: {len(text):,} characters in all]"

    def _pointer(self, number: int) -> str:
        text = self._texts[number - 1]
        first = next((line.strip() for line in text.splitlines() if line.strip()), "")
        short = first if len(first) <= LINE else f"{first[: LINE - 1]}…"
        return f"[w{number}] {short} ({len(text):,} characters)"

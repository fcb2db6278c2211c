"""A question before one table: its links, its conditions, and how much of it is explained."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from pointwork.agents.readings.question import Question
from pointwork.tools.catalog import Column, TableInfo


@dataclass
class View:
    """A question before one table: what of it is explained so far."""

    question: Question
    info: TableInfo
    conditions: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    explained: dict[int, float] = field(default_factory=dict[int, float])
    links: dict[str, dict[int, float]] = field(default_factory=dict[str, dict[int, float]])
    guessed: int = 0
    clocks: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def explain(self, words: Sequence[int] | dict[int, float], weight: float = 1.0) -> None:
        for i in words:
            given = words[i] if isinstance(words, dict) else weight
            self.explained[i] = max(self.explained.get(i, 0.0), given)

    def kinds(self, *kinds: str) -> list[Column]:
        used = {column for column, op, _ in self.conditions if op in ("=", "empty")}
        return [c for c in self.info.columns if c.kind in kinds and c.name not in used]

    def strength(self, column: Column) -> float:
        """How much the question speaks of a column with words that no value took."""
        return sum(
            weight
            for i, weight in self.links[column.name].items()
            if self.explained.get(i, 0.0) < 1.0 or weight == 1.0
        )

    def own(self, column: Column) -> bool:
        """Whether a column stands in the table itself, and says nothing of the rows that its keys stand for."""
        return all(reference.names or reference.name != column.name for reference in self.info.source.references)

    def at(self, pattern: re.Pattern[str]) -> bool:
        return bool(pattern.search(self.question.text))


Shape = tuple[dict[str, object], int | None, bool]
"""Arguments of the query, which cell of its first row is the answer, and whether it asks for yes or no."""

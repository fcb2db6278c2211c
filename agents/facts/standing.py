"""Which line of what the files say an answer stands in, and whether another line is meant as well."""

import re
from collections.abc import Sequence

from pointwork.agents.facts.figures import in_one_form
from pointwork.agents.facts.gathered import Fact
from pointwork.agents.plan import Found
from pointwork.text import tokenize

# "date of the open day": neither 10:00 nor 25 is one.
_DATE, _DAY = re.compile(r"(?:the )?date\b", re.IGNORECASE), re.compile(r"\b\d{4}\b|[^\W\d]{3}")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?!\w)")

_SECTION = re.compile(r"(?P<page>[^:]{1,60}): (?P<section>[^:]{1,60}): ")


def of_others(task: str, lines: Sequence[str]) -> set[int]:
    """Places, from 0, of lines of a page that a task does not name, where one that it names has that section too.

    "Heron: Survey: It is due every 24 months" tells nothing of the Marten's survey, if there is "Marten: Survey".
    """
    words = frozenset(tokenize(task))
    found = {place: match for place, line in enumerate(lines) if (match := _SECTION.match(line))}
    pages = {page: frozenset(tokenize(page)) for page in {match["page"] for match in found.values()}}
    told = {match["section"] for match in found.values() if pages[match["page"]] and pages[match["page"]] <= words}
    return {
        place for place, match in found.items() if match["section"] in told and not pages[match["page"]] & words
    }


def where(answer: str, step: str, facts: Sequence[Fact]) -> Found | None:
    """The line that an answer stands in; None: in none, or what the step says fits something else as well.

    Of several lines it is the one that shares most with the step. Where a step names what many rows have, one row's
    value is not its answer; and a sentence's is not where another line speaks of all that and of more of the step.
    A step for a date is answered by one.

    Args:
        answer: as it was written behind the step.
        step: with the answers before it in their places.
        facts: all that was shown.
    """
    if _DATE.match(step) and not _DAY.search(answer):
        return None
    words = frozenset(tokenize(step))
    shared = {fact: words & set(tokenize(fact.text)) for fact in facts if fact.source}
    holding = [fact for fact in shared if _stands(answer, fact.text)]
    best = max(holding, key=lambda fact: len(shared[fact]), default=None)
    if best is None:
        return None
    if best.row is not None:
        doubtful = _another_row(answer, words, best)
    else:
        doubtful = any(more > shared[best] for more in shared.values())
    return None if doubtful else Found(answer, best.source, best.text)


def _another_row(answer: str, words: frozenset[str], fact: Fact) -> bool:
    """Whether rows that share all with a step that this one does say something else in the answer's columns."""
    row = fact.row
    mine = row.words & words if row is not None else frozenset[str]()
    if row is None or not mine:
        return False
    columns = [number for number, cell in enumerate(row.cells) if _stands(answer, in_one_form(cell))]
    return any(
        columns and mine <= other.words and all(other.cells[number] != row.cells[number] for number in columns)
        for other in fact.others
    )


def _stands(answer: str, text: str) -> bool:
    plain = _NUMBER.sub(lambda number: number[0].replace(",", ""), text)  # of 1,200 the model writes 1200
    return re.search(rf"(?<![\w.:,-]){re.escape(answer)}(?!\w|[.:,-]\d)", plain) is not None

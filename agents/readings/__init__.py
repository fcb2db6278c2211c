"""What a question can mean, found without a model: readings, each a whole tool call with the share it accounts for.

``tables`` reads a question as a query, ``stated`` one that spells it out, ``moments`` as a calculation with dates,
times or units (``calendars``, ``yearly``, ``months``, ``series``, ``lasting``, ``zones``, ``converting``);
``sentences`` and ``spans`` find what in the files can be the answer, ``extracting`` which piece of it is;
``problems`` reads word problems (both learnt, their weights beside them); ``finishing`` brings an answer into the
form that is asked for.
A reading that accounts for most of the question is taken outright; among several pieces a model chooses; where
there is none a model writes the call itself. So each arm, weak or strong, is asked only what the words leave open.
What is known of English stands in ``lexicon``; nothing here knows a file or a table.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Reading:
    """One meaning of a question.

    Attributes:
        tool, arguments: the call that answers it.
        score: 0 to 1, the share of the question's words that it accounts for.
        cell: which cell of the result's first row is the answer; None: the result says it itself.
        yes_no: the answer is whether the result is more than nothing.
        unit: of the result, where nothing else says it.
        absent: it asks for a value that is not in the table which is named: nobody finds that.
    """

    tool: str
    arguments: dict[str, Any]
    score: float
    cell: int | None = None
    yes_no: bool = False
    unit: str = ""
    absent: bool = False

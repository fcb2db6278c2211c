"""The rule-based splitter: a plan without a model.

It cuts a task where people do (numbered lists, sentences, "then", ";", a second question) and links a part to
the one before it where it refers back ("it", "the result", "that number"). It stands in when a model's plan does
not fit, and it tells whether a task has more than one part at all.
"""

import re
from dataclasses import replace

from pointwork.agents.composing import compose
from pointwork.agents.describing import Steps
from pointwork.agents.plan import MAX_SUBTASKS, REFERENCE, Subtask
from pointwork.agents.readings import conversions, lexicon, moments
from pointwork.agents.readings.deciding import asks_yes_no
from pointwork.agents.readings.expressions import expression_of
from pointwork.agents.readings.question import Question
from pointwork.text import tokenize

_ITEM = re.compile(r"(?:^|\n|\s)(?:\(?\d{1,2}[.)]|[-*•])\s+(?=\S)")
_SENTENCE = re.compile(r"(?<=[.?!;])\s+(?=[A-Z\"'(])|;\s+|\n+")
_THEN = re.compile(
    r"(?:,?\s+and\s+then\s+|,\s*then\s+|\s+then\s+(?!(?:be|been|have|has|had|is|are|was|were|come|go|take|still)\b)(?=[a-z]+)|,?\s+after\s+that,?\s+|,?\s+afterwards?,?\s+)",
    re.IGNORECASE,
)
_QUESTION_WORD = r"(?:what|which|who|whom|whose|when|where|why|how|is|are|does|do|did|was|were|can)"
_VERB = (
    r"(?:add|subtract|multiply|divide|convert|calculate|compute|count|sum|find|list|show|give|tell|name|say|write|"
    r"compare|summari[sz]e|explain|describe|translate|read|look|search|round|take|double|halve|sort|check|"
    r"draft|report|state|determine|estimate|extract|return|print|get|work|use|see|pick|choose|identify)"
)
# An order in words not listed above: a first word in its base form, with its object right after it.
_ORDER = (
    r"(?!(?:in|on|at|by|for|from|to|of|with|as|if|when|while|after|before|until|since|during|under|over|about|into|"
    r"the|an?|this|these|those|its?|he|she|they|we|you|i|there|here|and|or|but|not|all|each|both|every|per)\b)"
    r"[a-z]+(?<!s)(?<!ed)(?<!ing)\s+(?:(?:the|an?|all|each|every|both|any|me|us|my|our|your|its|their|his|her|this|that|these|"
    r"those|it|them)\b|\{s|[\"'“])"
)
# A part asks if it is a question or begins as an order: "Three friends add a tip" only tells.
_LEAD = (
    r"\W*(?:(?:and|or|but|so|then|also|now|next|first|second|finally|please|i\s+(?:need|want|"
    r"would\s+like)(?:\s+to\s+know)?|can\s+you|could\s+you)\b[\s,:]*)*(?:(?:of|among)\s[^,.?;]{3,60},\s*)?"
)
# ... and so does a measure without a verb: "average price of wool".
_MEASURE = (
    r"(?:the\s+)?(?:average|mean|median|total|sum|number|count|maximum|minimum|highest|lowest|largest|smallest|latest|"
    r"earliest)\b(?!.*\b(?:is|are|was|were|has|have|had|will|must)\b)"
)
_ASKS = re.compile(
    rf"\?|^{_LEAD}(?:(?:{_QUESTION_WORD}|{_VERB})\b|{_ORDER}|{_MEASURE})|^{_LEAD}(?:in|on|at|by|for|from|to|of|with|until|since)\s+(?:which|what|whom|how)\b",
    re.IGNORECASE,
)
_AND = re.compile(
    rf",?\s+and\s+(?:also\s+)?(?=(?:{_QUESTION_WORD}|{_VERB})\b|{_ORDER}|(?:in|on|at|by|for|from|to|until|since)\s+(?:which|what|whom)\b)",
    re.IGNORECASE,
)
# "this" and "that" alone, not "this project": then they stand for what was found before.
_AFTER = r"(?:by|from|to|with|in|into|and|or|as|at|on|for|plus|minus|times|again|too)"
_ALONE = rf"(?:that|this)(?=\s*(?:[.,;?!)]|$)|\s+{_AFTER}\b)"
_FOUND = r"(?:result|answer|sum|total|number|value|product|difference|amount|figure|average|outcome)"
_THAT_ONE = (
    r"(?:that|this|the\s+same)\s+(?:person|one|boat|customer|member|place|item|book|title|"
    r"product|day|month|year|date|man|woman|table|team|[a-z]+(?=['’]s\b))"
)
_BACK = re.compile(
    rf"\b(?:it|its|his|her|he|she|{_ALONE}|{_THAT_ONE}|them|their|they|those|these|(?:the|that|this)\s+{_FOUND})\b",
    re.IGNORECASE,
)
_OWNS = re.compile(r"\b(?:its|his|her|their)\b(?=\s+[a-z])", re.IGNORECASE)
_BACK_VALUE = re.compile(
    rf"\b(?:it|he|she|they|them|{_ALONE}|{_THAT_ONE}|the\s+(?:result|answer|number|value|outcome)|(?:that|this)\s+{_FOUND})\b",
    re.IGNORECASE,
)
# "Who has the most loans, and how many of theirs are open?": of that one's loans.
_WHOSE_OF = re.compile(
    rf"(?<=\bof\s)(?:(?:theirs|hers|them)\b|(?:his|its|those|these|{_THAT_ONE}['’]s)"
    r"(?=\s+(?:is|are|was|were|has|have|had|did|do)\b))",
    re.IGNORECASE,
)
_MOST_OF = re.compile(
    r"\b(?:most|fewest|least)\s+([a-z][a-z -]*?)"
    r"(?=\s+(?:in|on|at|of|from|to|since|for|with|by|between|during)\b|\W*$)",
    re.IGNORECASE,
)
# What says only how to answer: "Give the number." It is no step.
_SHAPE = re.compile(
    r"(?:^|(?<=[.?!;,])\s+)(?:and\s+)?(?:please\s+)?(?:answer|reply|respond)\s+(?:only\s+|just\s+)?(?:with|in)\b[^.?!]*[.?!]?\s*$|"
    r"(?:^|(?<=[.?!;,])\s+)(?:just\s+|only\s+)?(?:give|state|say)\s+(?:me\s+)?(?:just\s+|only\s+)?(?:the|a)\s+(?:number|name|date|amount|answer|year|"
    r"figure|result|time|total)\s*(?:only)?[.?!]?\s*$|"
    r"(?:^|(?<=[.?!;])\s+)(?:(?:just|only)\s+the\s+[a-z]+|(?:the\s+)?full\s+name)(?:,?\s+please)?[.!]?\s*$|"
    r"(?:^|(?<=[.?!;])\s+)(?:i(?:['’]d|\s+would)\s+(?:just\s+|only\s+)?like|i\s+(?:just\s+|only\s+)?(?:need|want)|only)\s+(?:just\s+|only\s+)?"
    r"the\s+(?:[a-z]+\s+)?(?:name|number|date|amount|year|figure|place|town|rate|sum|total)\b[^.?!]{0,60}[.!]?\s*$|"
    r"(?:^|(?<=[.?!;,])\s+)(?:and\s+)?(?:round(?:ed)?\s+(?:it\s+|this\s+|the\s+result\s+)?(?:up\s+|down\s+)?to|to\s+the\s+nearest|(?:give|with|to|use)\s+"
    r"(?:me\s+)?(?:one|two|three|\d)\s+decimals?|(?:one|two|three|\d)\s+decimals?)\b[^.?!]*[.?!]?\s*$",
    re.IGNORECASE,
)


# What a price is asked in; pounds can be a weight too.
_MONEY = re.compile(
    r",?\s+in\s+(?:pounds(?:\s+sterling)?|euros?|dollars|francs|crowns|kroner|[$€£])(?=\s*[?.!]*\s*$)",
    re.IGNORECASE,
)
_WEIGHS = re.compile(
    r"\b(?:weigh\w*|weights?|heav\w+|mass|loads?|kilo\w*|kg|grams?|ounces?|stone)\b", re.IGNORECASE
)


def split(task: str, max_subtasks: int = MAX_SUBTASKS) -> list[Subtask]:
    """Cut a task into linked subtasks, without capabilities; a task with one part gives one.

    What is over ``max_subtasks`` goes, whole, into the last one.
    """
    task = without_shape(task)
    nested = nested_steps(task, max_subtasks)
    if nested is not None:
        return _nested(nested)
    parts = _with_page(_parts(task), task) or [task]
    if len(parts) > max_subtasks:
        parts = [*parts[: max_subtasks - 1], " ".join(parts[max_subtasks - 1 :])]
    subtasks: list[Subtask] = []
    for number, part in enumerate(parts, 1):
        text, needs = part, ()
        if number > 1 and _VALUE_ASKED.match(parts[number - 2]) and (name := _named(parts[number - 2])):
            part = text = _PERSONAL.sub(name, part, count=1)  # the answer is a value, so "she" is whom it was about
        if number > 1 and (of := _MOST_OF.search(parts[number - 2])):
            part = text = _WHOSE_OF.sub(f"that one's {of[1]}", part, count=1)
        if number > 1 and _BACK.search(part):
            needs = (f"s{number - 1}",)
            # the first reference takes the value; a second one would repeat it
            text, filled = _BACK_VALUE.subn(f"{{s{number - 1}}}", part, count=1)
            before = parts[number - 2]
            # of "the largest boat in Torness" the answer is the boat, not something about Torness
            extreme = any(stem in _EXTREMES for stem in tokenize(before, stop=False))
            if filled and not (extreme or _named(part) or _computed(text)) and (name := _named(before)):
                text = f"{text.rstrip('?. ')} ({name})?"  # of whom or what the answer was goes on
            if not filled:
                text = _OWNS.sub(f"{{s{number - 1}}}'s", part, count=1)
        subtasks.append(Subtask(f"s{number}", text, "", needs, answer_type_of(part)))
    if len(subtasks) == 1:
        return [replace(subtasks[0], text=task)]
    return subtasks


def _numbers(text: str) -> set[str]:
    return {number for number, _, _ in Question(text).numbers}


def nested_steps(task: str, max_subtasks: int = MAX_SUBTASKS) -> Steps | None:
    """The steps of a task that is one question with another inside it; None if it is not.

    Steps that leave two numbers of the task out have not read what is given: "14 kg went in and 11.9 came out. What
    percentage was lost?" says it all itself.
    """
    parts = _with_page(_parts(without_shape(task)), task)
    steps = compose(parts[0]) if len(parts) == 1 else None
    if steps is None or len(steps) > max_subtasks:
        return None
    told = _numbers(" ".join(text for text, _ in steps))
    return steps if len(_numbers(parts[0]) - told) < 2 else None


def apart(steps: Steps) -> bool:
    """Whether no single query can be meant: they end in a calculation, or begin with who somebody is.

    (Days between two dates of a row are read by the agent of tables.)
    """
    text, needs = steps[-1]
    reckoned = _computed(text) if len(needs) == 1 else bool(expression_of(REFERENCE.sub("12", text)))
    return reckoned or steps[0][0].startswith("Who ")


_ONLY_A_PAGE = re.compile(
    r"^\W*(?:please\s+)?(?:see|read|open|fetch|visit|use|look\s+(?:at|up)|go\s+to|source:?|from)\s+(?:the\s+page\s+)?"
    r"https?://\S+\W*$",
    re.IGNORECASE,
)


def _with_page(parts: list[str], task: str) -> list[str]:
    """A step that only names a page, and the one that asks about it, are one."""
    return [task] if len(parts) == 2 and any(_ONLY_A_PAGE.match(part) for part in parts) else parts


def without_shape(task: str) -> str:
    """A task without what says only how to answer."""
    bare = _SHAPE.sub("", task.strip()).strip() or task.strip()
    return bare if _WEIGHS.search(bare) else _MONEY.sub("", bare)


_VALUE_ASKED = re.compile(
    r"\W*(?:when|how\s+\w+|at\s+what\s+time|(?:on|in)\s+(?:which|what)\s+(?:date|day|year))\b", re.IGNORECASE
)
_EXTREMES = lexicon.UP | lexicon.DOWN | lexicon.LAST | lexicon.FIRST
_PERSONAL = re.compile(r"\b(?:he|she|it|they)\b", re.IGNORECASE)


def _computed(text: str) -> bool:
    """Whether a step with an answer in it is a sum already, which a name would only disturb."""
    dated = moments.readings(REFERENCE.sub("2024-03-05", text))
    return bool(dated and dated[0].score >= 1.0 or expression_of(REFERENCE.sub("12", text)))


def _named(part: str) -> str:
    """The name that a part speaks of, with its article; empty without one."""
    found = re.findall(r"(?<!^)\b((?:the\s+)?[A-Z][\w-]+(?:\s+[A-Z][\w-]+)*)(?:['’]s)?\b", part)
    return found[-1] if found else ""


def _nested(steps: Steps) -> list[Subtask]:
    return [
        Subtask(f"s{number}", text, "", tuple(f"s{n}" for n in needs), answer_type_of(text))
        for number, (text, needs) in enumerate(steps, 1)
    ]


def answer_type_of(text: str) -> str:
    """The type of answer that a question's form asks for; ``text`` where it leaves that open."""
    if re.search(r"\bhow (?:many|much)\b", text, re.IGNORECASE):
        return "number"
    return "yes-no" if asks_yes_no(text) else "text"


def _parts(task: str) -> list[str]:
    items = [item.strip() for item in _ITEM.split(task) if item and item.strip()]
    if len(items) >= 3:  # a heading and at least two items, or three items
        return _with_context([_clean(item) for item in items])
    parts: list[str] = []
    for sentence in _SENTENCE.split(task):
        for piece in _THEN.split(sentence):
            parts += _split_and(piece)
    return _with_context([part for part in map(_clean, parts) if part])


def _split_and(piece: str) -> list[str]:
    """Cut at "and" only if both sides ask for something of their own."""
    sides = _AND.split(piece)
    return sides if all(_ASKS.search(side) for side in sides) else [piece]


def _with_context(parts: list[str]) -> list[str]:
    """Statements that ask nothing belong to the question after (or, at the end, before) them."""
    joined: list[str] = []
    pending = ""
    for part in parts:
        if _ASKS.search(part) and not (joined and conversions.stated_factor(part) and "?" not in part):
            joined.append(f"{pending} {part}".strip())
            pending = ""
        else:
            pending = f"{pending} {part}{'' if part[-1] in '.:?!' else '.'}".strip()
    if pending:
        if joined:
            joined[-1] = f"{joined[-1]} {pending}"
        else:
            joined = [pending]
    return joined


def _clean(part: str) -> str:
    part = re.sub(
        r"^(?:and|then|also|next|finally|first|second|third|lastly)\b[,:]?\s+"
        r"(?:(?:more\s+to\s+the\s+point|by\s+the\s+way|while\s+(?:you|we)(?:['’]re|\s+are)\s+at\s+it),\s+)?",
        "",
        part.strip(),
        flags=re.I,
    )
    return part.strip().strip(";,").strip()

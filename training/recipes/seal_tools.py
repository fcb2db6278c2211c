"""Seal-Tools (Wu et al., 2024): requests, five candidate tools, the calls that should be made; and its figures.

A request is shown with its gold tools and others of the same pool, five in all (more if it needs more), in an order
that the request decides. The answer is a JSON list of ``{"api": …, "parameters": {…}}``. Figures, over all calls of
all requests: tool F1 over names, parameter F1 over (tool, parameter, value) triples, and the share of requests that
are answered exactly. Worked examples can also be made from the tools' schemas alone.
"""

import json
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, cast

from pointwork.errors import UsageError
from pointwork.training.samples import Example

CANDIDATES = 5
Call = dict[str, Any]
# A description names examples: "(e.g., DNA, fingerprints, blood)".
_EXAMPLES = re.compile(r"\((?:e\.g\.|for example|such as|i\.e\.)[,:]?\s*([^)]*)\)", re.IGNORECASE)
_OPENINGS = ("", "Please ", "I need you to ", "Can you ", "I would like to ")
_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DATED = re.compile(r"\b\d{4}-\d\d-\d\d\b|YYYY-MM-DD")
# Numbers, and names that nobody reads: a digit in them, or capitals in the middle; no space.
_ANY = re.compile(r"\d+(?:\.\d+)?|(?=\w*\d|\w*[A-Z]\w*[a-z][A-Z])\w{4,}")
_YEAR = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True)
class Request:
    """A request and what should be called.

    Attributes:
        id: of the data set.
        text: as a user wrote it.
        gold: the calls.
        tools: names of the candidates, gold ones among them, in the order that they are shown.
    """

    id: str
    text: str
    gold: tuple[Call, ...]
    tools: tuple[str, ...]


class SealTools:
    """The tools of the data set.

    Args:
        folder: with ``tool.jsonl``, ``dev.jsonl``, ``test_in_domain.jsonl``.

    Raises:
        UsageError: a file is not there.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.tools: dict[str, dict[str, Any]] = {row["api_name"]: row for row in self._rows("tool.jsonl")}
        self._names = sorted(self.tools)

    def requests(self, part: str) -> list[Request]:
        """``dev`` or ``test_in_domain``."""
        rows = self._rows(f"{part}.jsonl")
        return [self.request(row["id"], row["query"], row["calling"]) for row in rows]

    def request(self, name: str, text: str, calls: Sequence[Mapping[str, Any]]) -> Request:
        """With candidates that depend on ``name`` alone."""
        draw = random.Random(name)
        gold = tuple({"api": call["api"], "parameters": dict(call["parameters"])} for call in calls)
        shown = list(dict.fromkeys(str(call["api"]) for call in gold))
        while len(shown) < CANDIDATES:
            other = draw.choice(self._names)
            if other not in shown:
                shown.append(other)
        draw.shuffle(shown)
        return Request(name, text, gold, tuple(shown))

    def prompt(self, request: Request) -> list[dict[str, Any]]:
        """What the model is asked."""
        lines = [self._line(self.tools[name]) for name in request.tools]
        text = (
            "Tools:\n" + "\n".join(lines) + f"\n\nRequest: {request.text}\n"
            'Answer with a JSON list of the calls to make: [{"api": name, "parameters": {name: value}}]'
        )
        return [{"role": "user", "content": text}]

    def example(self, request: Request) -> Example:
        """The request with its gold answer."""
        answer = json.dumps(list(request.gold), ensure_ascii=False)
        return Example((*self.prompt(request), {"role": "assistant", "content": answer}), role="caller")

    def generated(self, count: int, *, seed: int = 0) -> list[Request]:
        """Requests made from schemas: descriptions as wishes, the examples that they name as values."""
        draw = random.Random(seed)
        found: list[Request] = []
        while len(found) < count:
            calls: list[Call] = []
            wishes: list[str] = []
            for name in draw.sample(self._names, draw.choice([1, 1, 2, 3])):
                tool = self.tools[name]
                values = self._values(tool, draw)
                what = str(tool["api_description"]).rstrip(". ")
                wishes.append(draw.choice(_OPENINGS) + what[:1].lower() + what[1:] + _spoken(values, draw))
                calls.append({"api": name, "parameters": values})
            text = " ".join(wish[:1].upper() + wish[1:] + "." for wish in wishes)
            found.append(self.request(f"made-{seed}-{len(found)}", text, calls))
        return found

    def varied(self, requests: Sequence[Request], *, seed: int = 0) -> list[Request]:
        """Each request once more, with other candidates and other values of what stands in the text word for word.

        A number or an identifier becomes another of the same shape; another value becomes, every second time, one
        that a parameter of the same name has in another of ``requests``.
        """
        draw = random.Random(f"varied {seed}")
        pool: dict[str, list[str]] = {}
        for request in requests:
            for name, value in _texts(request.gold):
                if _stands(value, request.text) and not _ANY.fullmatch(value) and not _number(value):
                    pool.setdefault(name, []).append(value)
        return [self._another(request, pool, draw, f"{request.id}~{seed}") for request in requests]

    def _another(self, request: Request, pool: Mapping[str, list[str]], draw: random.Random, name: str) -> Request:
        text, changed = request.text, dict[str, str]()
        for parameter, value in _texts(request.gold):
            if value in changed:
                continue
            chosen = _like(value, draw) if _ANY.fullmatch(value) else value
            if chosen == value and draw.random() < 0.5 and not _number(value):
                chosen = draw.choice(pool.get(parameter) or [value])
            if chosen != value and _stands(value, text) and not _stands(chosen, text):
                text, changed[value] = _replaced(value, chosen, text), chosen
        calls: list[Call] = [
            {
                "api": call["api"],
                "parameters": {
                    key: _as(value, changed.get(str(value))) for key, value in call["parameters"].items()
                },
            }
            for call in request.gold
        ]
        if any(_stands(old, request.text) and not _stands(new, text) for old, new in _pairs(request.gold, calls)):
            text, calls = request.text, list(request.gold)  # one value was part of another
        return self.request(name, text, calls)

    def _values(self, tool: Mapping[str, Any], draw: random.Random) -> dict[str, Any]:
        wanted = set(tool.get("required") or [])
        found: dict[str, Any] = {}
        for name, form in tool["parameters"].items():
            if name in wanted or draw.random() < 0.3:
                found[name] = _value(form, draw)
        return found

    def _line(self, tool: Mapping[str, Any]) -> str:
        required = set(tool.get("required") or [])
        parts = [
            f"{name}{'' if name in required else '?'}: {form.get('type', 'str')} ({form.get('description', '')})"
            for name, form in tool["parameters"].items()
        ]
        return f"- {tool['api_name']}: {tool['api_description']}. " + "; ".join(parts)

    def _rows(self, name: str) -> list[dict[str, Any]]:
        file = self._folder / name
        if not file.is_file():
            raise UsageError(f"no {name} in {self._folder}: give the folder of the Seal-Tools data set")
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


def parsed(text: str) -> list[Call] | None:
    """The calls of an answer; None if it is no JSON list of calls."""
    try:
        value: object = json.loads(text)
    except ValueError:
        return None
    if not isinstance(value, list):
        return None
    calls: list[Call] = []
    for item in cast(list[Any], value):
        if not isinstance(item, dict) or not isinstance(cast(dict[str, Any], item).get("parameters"), dict):
            return None
        calls.append(cast(Call, item))
    return calls


@dataclass
class Figures:
    """Counts over requests; they add.

    Attributes:
        requests, valid, exact: requests, answers that are JSON lists of calls, answers that are right in all.
        tools, parameters: (found and right, found, to be found).
    """

    requests: int = 0
    valid: int = 0
    exact: int = 0
    tools: tuple[int, int, int] = (0, 0, 0)
    parameters: tuple[int, int, int] = (0, 0, 0)

    def add(self, text: str, gold: Sequence[Call]) -> None:
        """Count an answer."""
        calls = parsed(text)
        self.requests += 1
        self.valid += calls is not None
        found, wanted = _names(calls or []), _names(gold)
        triples, right = _triples(calls or []), _triples(gold)
        self.exact += calls is not None and found == wanted and triples == right
        self.tools = _plus(self.tools, found, wanted)
        self.parameters = _plus(self.parameters, triples, right)

    def report(self) -> dict[str, float]:
        """Shares and F1 scores in [0, 1]."""
        count = max(1, self.requests)
        return {
            "requests": float(self.requests),
            "valid": self.valid / count,
            "tool_f1": _f1(self.tools),
            "parameter_f1": _f1(self.parameters),
            "exact": self.exact / count,
        }


def reward(text: str, gold: Sequence[Call]) -> float:
    """In [0, 1]: 0.3 × tool F1 + 0.4 × parameter F1 + 0.3 if it is right in all."""
    figures = Figures()
    figures.add(text, gold)
    found = figures.report()
    if not any(call["parameters"] for call in gold):  # nothing to fill in
        found["parameter_f1"] = found["exact"]
    return 0.3 * found["tool_f1"] + 0.4 * found["parameter_f1"] + 0.3 * found["exact"]


def _names(calls: Sequence[Call]) -> Counter[str]:
    return Counter(str(call.get("api")) for call in calls)


def _triples(calls: Sequence[Call]) -> Counter[str]:
    return Counter(
        f"{call.get('api')}\n{name}\n{_plain(value)}"
        for call in calls
        for name, value in call["parameters"].items()
    )


def _plain(value: Any) -> str:
    """1, 1.0 and "1" are one value, and so are words in other cases."""
    text = str(value).strip().lower()
    return f"{float(text):g}" if _number(text) else text


def _plus(sums: tuple[int, int, int], found: Counter[str], wanted: Counter[str]) -> tuple[int, int, int]:
    return sums[0] + (found & wanted).total(), sums[1] + found.total(), sums[2] + wanted.total()


def _f1(sums: tuple[int, int, int]) -> float:
    right, found, wanted = sums
    return 2 * right / (found + wanted) if found + wanted else 0.0


def _value(form: Mapping[str, Any], draw: random.Random) -> Any:
    kind = str(form.get("type", "str"))
    if kind == "int":
        return draw.randint(1, 200)
    if kind == "float":
        return round(draw.uniform(0, 500), 1)
    if kind == "bool":
        return draw.random() < 0.5
    if _DATED.search(str(form.get("description", ""))):
        return _day(draw)
    named = _EXAMPLES.search(str(form.get("description", "")))
    if named:
        options = [option.strip(" '\".") for option in re.split(r",| or ", named.group(1))]
        options = [option for option in options if option and option != "etc"]
        if options:
            return draw.choice(options)
    letters = draw.choice((_UPPER, _UPPER + _UPPER.lower()))
    return "".join(draw.choice(letters + "0123456789") for _ in range(draw.randint(4, 12)))


def _texts(calls: Sequence[Call]) -> list[tuple[str, str]]:
    """(parameter, value) of all that are texts or numbers."""
    return [
        (name, str(value))
        for call in calls
        for name, value in call["parameters"].items()
        if isinstance(value, str | int | float) and not isinstance(value, bool)
    ]


def _pairs(before: Sequence[Call], after: Sequence[Call]) -> list[tuple[str, str]]:
    return [(old, new) for (_, old), (_, new) in zip(_texts(before), _texts(after), strict=True)]


def _number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _word(value: str) -> str:
    return rf"(?<!\w){re.escape(value)}(?!\w)"


def _stands(value: str, text: str) -> bool:
    """Whether it stands in the text as it is, and not within a word."""
    return bool(value) and re.search(_word(value), text) is not None


def _replaced(value: str, other: str, text: str) -> str:
    return re.sub(_word(value), lambda _: other, text)


def _as(value: Any, text: str | None) -> Any:
    """The new text in the type of the old value."""
    return value if text is None else type(value)(text)


def _like(value: str, draw: random.Random) -> str:
    """Another of the same shape: digits for digits, letters for letters; a number does not begin with 0."""
    if _YEAR.fullmatch(value):
        return str(draw.randint(1990, 2029))
    made = [
        draw.choice("123456789" if place == 0 and len(value) > 1 and value[1:2] != "." else "0123456789")
        if letter.isdigit()
        else draw.choice(_UPPER.lower() if letter.islower() else _UPPER)
        if letter.isascii() and letter.isalpha()
        else letter
        for place, letter in enumerate(value)
    ]
    return "".join(made)


def _day(draw: random.Random) -> str:
    return f"{draw.randint(2000, 2029)}-{draw.randint(1, 12):02d}-{draw.randint(1, 28):02d}"


def _said(value: Any, draw: random.Random) -> str:
    """As somebody would write it; a day in words half the time."""
    text = str(value)
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", text) or draw.random() < 0.4:
        return text
    day = date.fromisoformat(text)
    return f"{day:%B} {day.day}, {day.year}" if draw.random() < 0.7 else f"{day.day} {day:%B} {day.year}"


def _spoken(values: Mapping[str, Any], draw: random.Random) -> str:
    if not values:
        return ""
    forms = ("{} '{}'", "{} {}", "the {} {}", "{} set to {}")
    said = [draw.choice(forms).format(name.replace("_", " "), _said(value, draw)) for name, value in values.items()]
    return draw.choice((" with ", " for ", " using ")) + ", ".join(said)

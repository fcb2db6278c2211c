"""GSM8K (Cobbe et al. 2021, MIT licence): its solutions as one expression over the numbers of the problem.

A solution marks its calculations, ``<<48/2=24>>``; where a later one uses a result, its calculation is put there.
What does not come out at the given answer is left out.
"""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

from pointwork.errors import ToolError, UsageError
from pointwork.tools import expressions

_MARKED = re.compile(r"<<([^=>]+)=([^>]+)>>")
_TOKEN = re.compile(r"\d+(?:\.\d+)?|\.\d+|[-+*/()]")


def problems(file: Path, *, operations: int = 3) -> Iterator[tuple[str, str]]:
    """Problems with the expression that solves them, of up to so many operations, in the order of the file.

    Raises:
        UsageError: there is no such file.
    """
    if not file.is_file():
        raise UsageError(f"{file} is not there: GSM8K's train.jsonl is needed")
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        expression = expression_of(row["question"], row["answer"])
        if expression and 1 <= len(re.findall(r" [-+*/] ", expression)) <= operations:
            yield row["question"], expression


def expression_of(question: str, solution: str) -> str:
    """The expression that a solution carries out; empty if it can not be told or misses the answer."""
    body, _, answer = solution.partition("####")
    known: list[tuple[float, str]] = []
    given = {_number(found) for found in re.findall(r"\d[\d,]*(?:\.\d+)?", question)}
    for calculation, result in _MARKED.findall(body):
        spaced = _spaced(calculation.replace("%", "/100"))
        value = _value(spaced)
        if value is None or abs(value - _number(result)) > 0.02 * max(1.0, abs(value)):
            return ""
        known.append((_number(result), " ".join(_traced(token, known, given) for token in spaced.split())))
    if not known:
        return ""
    expression = ast.unparse(ast.parse(known[-1][1], mode="eval"))  # without brackets that change nothing
    value, wanted = _value(expression), _number(answer)
    return expression if value is not None and abs(value - wanted) <= 0.01 * max(1.0, abs(wanted)) else ""


def _traced(token: str, known: list[tuple[float, str]], given: set[float]) -> str:
    """A number, or the calculation whose result it is: the problem's own numbers first, but for the last result."""
    if not token[-1].isdigit():
        return token
    number = _number(token)
    earlier = [expression for result, expression in known if result == number]
    if not earlier or (number in given and known[-1][0] != number):
        return token
    return f"({earlier[-1]})" if " " in earlier[-1] else earlier[-1]


def _spaced(calculation: str) -> str:
    return " ".join(_TOKEN.findall(calculation.replace(",", "").replace("$", "")))


def _number(text: str) -> float:
    found = re.search(r"-?\d+(?:\.\d+)?|-?\.\d+", text.replace(",", ""))
    return float(found[0]) if found else float("nan")


def _value(expression: str) -> float | None:
    try:
        return float(str(expressions.evaluate(expression).value))
    except (ToolError, ValueError):
        return None

"""Texts to compare a server and a trainer by."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pointwork.errors import TrainingError, UsageError
from pointwork.extras import require
from pointwork.training.publication.target import Probe
from pointwork.training.samples import Rollout, Turn

MOST = 48
"""Tokens of a completion that are scored."""
_PROMPT = 192  # tokens of a prompt that are kept, its end

# What agents ask and models answer: plans, tool calls, short answers, prose.
# ruff: noqa: E501 - one text a line
TEXTS: tuple[tuple[str, str], ...] = (
    ("What is 17% of 2340?", '{"tool": "calculator", "arguments": {"expression": "2340 * 0.17"}}'),
    ("Plan: find the total of the sales file and write it in euros.", '{"subtasks": [{"text": "Sum the column amount '
     'of sales.csv", "capability": "tables"}, {"text": "Convert {s1} to euros", "capability": "calculation"}]}'),
    ("Which city had the most visitors in May?", '{"tool": "query", "arguments": {"table": "visitors", '
     '"group_by": "city", "column": "count", "order": "desc"}}'),
    ("How many days are there from 3 March to 17 April?", "There are 45 days from 3 March to 17 April."),
    ("Summarise: the ferry leaves at nine, calls at the island and returns at four.",
     "The ferry leaves at 9:00, stops at the island and is back at 16:00."),
    ("Find the file that speaks of berths.", '{"tool": "search_files", "arguments": {"query": "berths"}}'),
    ("What colour is the sky on a clear day?", "On a clear day the sky is blue, because air scatters short waves."),
    ("Write a function that adds two numbers.", "def add(a, b):\n    return a + b"),
    ("Is 91 a prime number?", "No. 91 is 7 times 13, so it is not a prime number."),
    ("Convert 12 miles to kilometres.", '{"tool": "convert", "arguments": {"value": 12, "from": "mi", "to": "km"}}'),
    ("Who wrote the report of last week, and when?", '{"tool": "recall", "arguments": {"question": "report author"}}'),
    ("Name three animals that live in the sea.", "Three animals that live in the sea are whales, seals and squid."),
    ("If a train takes 3 hours for 240 km, how fast is it?", "It runs at 240 / 3 = 80 kilometres per hour."),
    ("Translate 'good morning' into French.", "'Good morning' is 'bonjour' in French."),
    ("List the columns of the table orders.", '{"tool": "columns", "arguments": {"table": "orders"}}'),
    ("Why do leaves turn yellow?", "Leaves turn yellow when the tree takes back their green chlorophyll in autumn."),
    ("Add a note that the meeting is on Friday at ten.", '{"tool": "remember", "arguments": {"text": "The meeting is '
     'on Friday at 10:00."}}'),
    ("What is the capital of Portugal?", "The capital of Portugal is Lisbon."),
    ("How much is 3 times 18.50?", '{"tool": "calculator", "arguments": {"expression": "3 * 18.50"}}'),
    ("Give me a title for a story about a lighthouse.", "The Keeper Who Counted the Waves"),
    ("Which is heavier, a kilogram of iron or of feathers?", "Neither: both weigh one kilogram."),
    ("Then multiply the result by two and round it.", '{"tool": "calculator", "arguments": {"expression": '
     '"round({s1} * 2)"}}'),
    ("Explain what a budget is in one sentence.", "A budget is a plan of how much may be spent on what."),
    ("What did I ask before?", "You asked how much three tickets at 18.50 each would cost."),
)  # fmt: skip


def default_probes(base: str | Path, texts: Sequence[tuple[str, str]] = TEXTS) -> list[Probe]:
    """Question and answer pairs in the token ids of a model.

    Args:
        base: a Hugging Face directory; its tokenizer is used, no weights.
        texts: (question, answer).

    Raises:
        TrainingError: there is no tokenizer.
    """
    tokenizers: Any = require("tokenizers")
    file = Path(base) / "tokenizer.json"
    try:
        encoder: Any = tokenizers.Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises plain Exception
        raise TrainingError(f"no tokenizer could be read from {file}: {error}") from error
    head, tail = _frame(Path(base))
    found: list[Probe] = []
    for question, answer in texts:
        prompt: list[int] = encoder.encode(head + question + tail, add_special_tokens=False).ids
        completion: list[int] = encoder.encode(answer, add_special_tokens=False).ids
        found.append(Probe(tuple(prompt), tuple(completion[:MOST])))
    return found


def probes_of(turns: Iterable[Turn | Rollout], *, most: int = 24) -> list[Probe]:
    """Probes from what a role was really asked and wrote, spread over all of it.

    Args:
        turns: or whole rollouts.
        most: probes.

    Raises:
        UsageError: none of them holds tokens.
    """
    flat: list[Turn] = []
    for item in turns:
        flat += item.turns if isinstance(item, Rollout) else (item,)
    usable = [turn for turn in flat if turn.prompt_ids and len(turn.completion_ids) >= 4]
    if not usable:
        raise UsageError("no turn holds token ids of a prompt and an answer to make probes of")
    step = max(1, len(usable) // most)
    return [Probe(turn.prompt_ids[-_PROMPT:], turn.completion_ids[:MOST]) for turn in usable[::step][:most]]


def _frame(base: Path) -> tuple[str, str]:
    """What stands before and after a question. Only to be near what the model knows: both sides get the same."""
    try:
        added = json.loads((base / "tokenizer_config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return "", "\n"
    if added.get("eos_token") == "<|im_end|>":
        return "<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n"
    return "", "\n"

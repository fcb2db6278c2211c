"""Remake ``agents/parsing/calculations.npz``: what a task calculates with what the files say around it.

    python benchmarks/train_calculations.py --data BENCH_DATA --asked FILE --write      # two hours of two cores
    python benchmarks/train_calculations.py --data BENCH_DATA --asked FILE --minutes 5  # a look, writes nothing
    python benchmarks/train_calculations.py --data BENCH_DATA --alone --begin shipped --write   # alone.npz
    python benchmarks/train_calculations.py --in-use                                    # what ships, as it is
    python benchmarks/train_calculations.py --by-step [--out FILE]                      # in half a minute

Begins with the parser's encoder (``train_parser.py``) or with what ships, and learns from tasks with steps:

- ``training/recipes/task_steps_facts.jsonl`` and ``task_steps_sums.jsonl`` (eight places more, mostly of two to
  four operations), with lines before them that look like those of queries;
- ``task_steps_queried.jsonl``, ``task_steps_cases.jsonl``, ``task_steps_places.jsonl``,
  ``task_steps_places_more.jsonl``, ``task_steps_kinds.jsonl``, ``task_steps_twins.jsonl``,
  ``task_steps_voices.jsonl`` and ``task_steps_papers.jsonl``: 680 places, with what queries and sums of rows say
  (``agents/facts/queried.py``), some of them without any lines, to learn what a text does not hold, and with a part
  of their lines (``dealt``);
- questions to tables (``parser_training/asked.py``), which are kept in the file ``--asked``: they take a while.

- ``stepped_problems.jsonl``: problems with steps that need no files.

All are shown in as many lines as are read at once, six of eight batches told anew (``training/recipes/varying``);
beside them stand word problems, our own and those of GSM8K's training half (Cobbe et al. 2021, MIT). With
``--alone`` only what needs no files is learnt, more of it in a step, for ``alone.npz``; it forgets the rest, so
that the other takes a third of it (``--mean 0.67=BEFORE.npz 0.33=ALONE.npz``).
``task_steps_*_unseen.jsonl`` of the same names measure it: 63 places of which nothing is learnt. After a training
that ships, ``train_bare.py``.
"""

import argparse
import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from parser_training.asked import asked, fewer, misled, mixed, read
from parser_training.calculations import Calculated, Other, calculated, problems, value_of
from parser_training.calculator import Calculator, stored
from parser_training.dealt import Dealt, Lesson, dealt
from parser_training.fitting import written
from parser_training.network import rate
from parser_training.scattered import Problem, scattered
from rich.progress import Progress, track
from train_parser import FAST, OWN, RECIPES, ROOT, batches
from train_word_problems import gsm8k, parsed

from pointwork.agents import calculated as plans
from pointwork.agents.agreeing import answer_of
from pointwork.agents.facts.gathered import Fact
from pointwork.agents.parsing import calculating, encoder
from pointwork.agents.parsing.layout import Pieces
from pointwork.training.recipes.decomposing import FACTS
from pointwork.training.recipes.varying import names_of, varied

OUT, ALONE_OUT = ROOT / "agents/parsing/calculations.npz", ROOT / "agents/parsing/alone.npz"
SUMS = "task_steps_sums.jsonl"
QUERIED = tuple(
    f"task_steps_{name}.jsonl"
    for name in ("queried", "cases", "places", "places_more", "kinds", "twins", "voices", "papers")
)
MORE = ("mixed", "twin", "spoken")  # word problems that the parser was not taught
STEPPED = "stepped_problems.jsonl"  # those with steps: days, times of day, more or less, amounts in several units
BARE = 1500  # tasks that are shown without their lines
PAGES = ("reading_comprehension.jsonl", "reading_entries.jsonl")
MEASURED = ("facts", "queried", "cases", "places", "places_more", "kinds", "twins", "voices", "papers")
UNSEEN = tuple(f"task_steps_{name}_unseen.jsonl" for name in MEASURED)
TELLINGS = (1, 2)  # besides the first
ASKED = range(242)  # worlds of tables of which questions are taken
TASKS, PROBLEMS = 8, 4  # in a step
ALONE = 16, 24  # where nothing else is learnt
SILENT = 0.6  # of the tasks that no line answers, which of their first telling stay
WORTH = 0.5  # of a word problem's loss


def rows_of(name: str) -> list[dict[str, Any]]:
    """Tasks of a recipe."""
    return [json.loads(line) for line in (RECIPES / name).read_text(encoding="utf-8").splitlines()]


def tasks(rows: Sequence[dict[str, Any]], pieces: Pieces, told: int = 0) -> list[Calculated]:
    """Those whose steps have a known form; of those that are told anew, only what the lines answer."""
    names, found = names_of(rows) if told else [], list[Calculated]()
    for row in track(rows, f"tasks, telling {told + 1}"):
        with suppress(Other):
            row = mixed(varied(row, names, told), told) if told else row
            one = calculated(row, pieces)
            if len(one.pieces) > calculating.ROW:
                one = calculated(fewer(row, _needed(one), pieces, calculating.ROW, told), pieces)
            if one.steps or not told:
                found.append(one)
    return found


def _needed(one: Calculated) -> set[int]:
    """The lines in which amounts stand that are calculated with, from 0."""
    amounts = one.shown.amounts
    return {amounts[place].line - 1 for step in one.steps for place in step[:2] if place < len(amounts)} - {-1}


def asked_rows(kept: Path) -> list[dict[str, Any]]:
    """Tasks of questions to tables; made at the first use, some twenty minutes of one core."""
    if not kept.exists():
        worlds = [json.loads(line) for line in (RECIPES / "table_questions.jsonl").read_text("utf-8").splitlines()]
        made = [row for number in track(ASKED, "questions to tables") for row in asked(worlds[number], 0)]
        kept.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in made), encoding="utf-8")
    return [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]


def wider(told: Sequence[Problem], pieces: Pieces) -> list[Sequence[Lesson]]:
    """From outside of those places: word problems among sentences of others, and amounts that pages tell."""
    pages = [page for name in PAGES for page in rows_of(name)]
    rows = [row for page in track(pages, "questions about pages") for row in read(page, 0)]
    return [
        [one for seed in TELLINGS for one in scattered(told, pieces, seed)],
        [one for seed in TELLINGS for one in tasks(rows, pieces, seed)],
    ]


def parts(rows: Sequence[dict[str, Any]], pieces: Pieces) -> list[Dealt]:
    """Those that have more lines than are read at once, with a part of them."""
    chance, found = random.Random(0), list[Dealt]()
    for row in track(rows, "tasks with a part of their lines"):
        with suppress(Other):
            if (one := dealt(row, pieces, chance)) is not None:
                found.append(one)
    return found


def corpus(kept: Path, pieces: Pieces) -> list[Sequence[Lesson]]:
    """Tasks in the order in which batches take turns: half have what queries say, a quarter need no files."""
    facts = [misled(row, 0) for row in [*rows_of(FACTS), *rows_of(SUMS)]]
    queries = [row for name in QUERIED for row in rows_of(name)]
    sorts = (facts, queries, asked_rows(kept))
    plain, queried = (tasks(rows, pieces) for rows in sorts[:2])
    plain_anew, queried_anew, questions_anew = (
        [one for told in TELLINGS for one in tasks(rows, pieces, told)] for rows in sorts
    )
    queried += bare(queries, pieces)
    dealt_with = parts(queries, pieces)
    alone = stepped(pieces)
    return [
        *(queried, queried_anew, alone, plain_anew, queried_anew, questions_anew),
        *(alone, queried_anew, plain, alone, queried_anew, dealt_with),
    ]  # fmt: skip


def stepped(pieces: Pieces) -> list[Calculated]:
    """Problems with steps that need no files."""
    return tasks([{**row, "around": ""} for row in rows_of(STEPPED)], pieces)


def mean(weighed: Sequence[tuple[float, Path]]) -> dict[str, torch.Tensor]:
    """The mean of the weights of some networks (Wortsman et al., "Model Soups", ICML 2022)."""
    parser, total = encoder.shipped(), sum(share for share, _ in weighed)
    made: dict[str, torch.Tensor] = {}
    for share, path in weighed:
        for name, tensor in Calculator(parser, encoder.Encoder(path, parser)).state_dict().items():
            made[name] = made.get(name, 0.0) + share / total * tensor.float()
    return made


def bare(rows: Sequence[dict[str, Any]], pieces: Pieces) -> list[Calculated]:
    """Tasks over files without their lines: their numbers alone are not what they ask for."""
    without = [{**row, "around": ""} for row in random.Random(0).sample(list(rows), min(BARE, len(rows)))]
    return [one for one in tasks(without, pieces) if not one.steps and one.shown.amounts]


def longer(rows: Sequence[Lesson], times: int) -> list[Lesson]:
    """Those with three values or more so often as said; they are what it does worst."""

    def values(one: Lesson) -> int:
        seen = len(one.shown.amounts)
        return len({place for step in one.steps for place in step[:2] if place < seen})

    return [*rows, *[one for one in rows if values(one) >= 3] * (times - 1)]


def sums(data: Path) -> list[Problem]:
    """Word problems."""
    own = [
        (row["task"], parsed(row["expression"]), float(row["answer"]))
        for name in (*OWN, *MORE)
        for row in rows_of(f"{name}_problems.jsonl")
    ]
    return [*own, *gsm8k(data / "gsm8k/train.jsonl")]


def train(network: Calculator, sorts: Sequence[Sequence[Lesson]], told: list[Calculated], given: Any) -> None:
    """For as long as is given."""
    chance = random.Random(given.seed)
    kept = ("layers", "pos", "n0")
    body = [p for name, p in network.named_parameters() if name.startswith(kept)]
    heads = [p for name, p in network.named_parameters() if not name.startswith((*kept, "word"))]
    groups = [{"params": body, "lr": given.rate}, {"params": heads, "lr": FAST * given.rate}]
    optimiser = torch.optim.AdamW(groups, weight_decay=0.01)
    some_of, others_of = ALONE if given.alone else (TASKS, PROBLEMS)
    turns = [batches(rows, some_of, chance) for rows in sorts]
    others = batches(told, others_of, chance)
    began, step, losses = time.monotonic(), 0, list[tuple[float, float]]()
    with Progress() as progress:
        bar = progress.add_task("training", total=1.0)
        while (spent := (time.monotonic() - began) / 60 / given.minutes) < 1:
            for group, fast in zip(optimiser.param_groups, (1, FAST), strict=True):
                group["lr"] = given.rate * fast * rate(spent)
            optimiser.zero_grad()
            some = next(turns[step % len(turns)])
            some = [one for one in some if one.steps or isinstance(one, Dealt) or chance.random() < SILENT] or some
            shown = []
            for rows, worth in ((some, 1.0), (next(others), 1.0 if given.alone else WORTH)):
                seen = network.see(rows)
                loss = torch.stack([network.loss(x, one) for x, one in zip(seen, rows, strict=True)]).mean()
                (worth * loss).backward()
                shown.append(float(loss.detach()))
            torch.nn.utils.clip_grad_norm_(network.parameters(), 2.0)
            optimiser.step()
            step += 1
            losses.append((shown[0], shown[1]))
            progress.update(bar, completed=spent)
            if step % 50 == 0:
                tasks_, words = np.mean(losses[-50:], 0)
                progress.console.print(f"step {step}: tasks {tasks_:.3f}, problems {words:.3f}")


def measure() -> None:
    """What ships, on the tasks of places that nothing was learnt from."""
    for name in UNSEEN:
        counts: Counter[str] = Counter()
        rows = rows_of(name)
        for row in track(rows, name):
            facts = [Fact("file:shown", line) for line in row["around"].splitlines()]
            best = next(iter(asyncio.run(plans.calculated(row["task"], facts))), None)
            said, wanted = asyncio.run(answer_of(row["task"], best)) if best else "", value_of(row["answer"])
            found = value_of(said.split()[0]) if said else None
            right = bool(found and wanted and found[1] == wanted[1] and abs(found[0] - wanted[0]) <= 0.011)
            for least in (0.0, 0.5, 0.7, 0.9):
                if best and best.sure >= least:
                    counts[f"from {least}: taken"] += 1
                    counts[f"from {least}: right"] += right
        for what, count in sorted(counts.items()):
            print(f"{name}: {what} {count} of {len(rows)}")


def by_step(path: Path) -> None:
    """A network, on those tasks with the lines that they need: whether each step is right, how surprised it is."""
    parser = encoder.shipped()
    network = Calculator(parser, encoder.Encoder(path, parser))
    network.eval()
    for name in UNSEEN:
        rows = [one for one in tasks(rows_of(name), parser.pieces) if one.steps]
        with torch.no_grad():
            seen = [network.see([one])[0] for one in track(rows, name)]
            right = sum(network.right(x, one) for x, one in zip(seen, rows, strict=True))
            nats = np.mean([float(network.loss(x, one)) for x, one in zip(seen, rows, strict=True)])
        print(f"{name}: {right} of {len(rows)} right at each step, {nats:.2f} nats a task")


def main() -> None:
    """Train, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder with gsm8k/")
    parser.add_argument("--asked", type=Path, help="file of questions to tables; made where it is not there")
    parser.add_argument("--begin", choices=("parser", "shipped"), default="parser")
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--rate", type=float, default=2e-4, help="of the encoder; of what is new five times that")
    parser.add_argument("--longer", type=int, default=1, help="how often tasks of three values and more are shown")
    parser.add_argument("--wider", action="store_true", help="word problems and pages too, among lines of others")
    parser.add_argument("--alone", action="store_true", help="learn only what needs no files")
    parser.add_argument("--mean", nargs="+", metavar="SHARE=FILE", help="write this mean of networks to --out")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="into the package")
    parser.add_argument("--out", type=Path, help="where to write instead")
    parser.add_argument("--in-use", action="store_true", help="train nothing, measure what ships")
    parser.add_argument("--by-step", action="store_true", help="train nothing, measure --out with the lines needed")
    given = parser.parse_args()
    out = given.out or (ALONE_OUT if given.alone else OUT)
    if given.by_step:
        by_step(out)
        return
    if given.in_use:
        measure()
        return
    if given.mean:
        weighed = [(float(share), Path(path)) for share, _, path in (one.partition("=") for one in given.mean)]
        written(out, stored(mean(weighed)))
        return
    if given.data is None or (given.asked is None and not given.alone):
        parser.error("--data (the folder with gsm8k/) and --asked are needed")
    torch.manual_seed(given.seed)
    shipped = encoder.shipped()
    told = sums(given.data)
    if given.alone:
        sorts: list[Sequence[Lesson]] = [stepped(shipped.pieces)]
    else:
        sorts = corpus(given.asked, shipped.pieces) + (wider(told, shipped.pieces) if given.wider else [])
    sorts, problem = [longer(rows, given.longer) for rows in sorts], problems(told, shipped.pieces)
    print(f"{', '.join(str(len(rows)) for rows in sorts)} tasks, {len(problem)} word problems")
    network = Calculator(shipped, calculating.shipped(alone=given.alone) if given.begin == "shipped" else None)
    network.train()
    train(network, sorts, problem, given)
    if given.write:
        written(out, stored(network.state_dict()))


if __name__ == "__main__":
    main()

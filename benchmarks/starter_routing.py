"""Does the learned router beat ``static`` and ``random`` at equal money on the starter suite, after 300 runs?

    python benchmarks/starter_routing.py record OUT.jsonl [--limit N] [--modes instant,agentic] \
        [--model ROLE=MODEL] [--set KEY=VALUE]                             # the models work: hours
    python benchmarks/starter_routing.py replay OUT.jsonl [--price MODEL=PROMPT,COMPLETION] [--plot OUT.png]

``record`` runs every task of the train half once with each arm that may take its first step, that arm being chosen
wherever it can be, and writes what came of the run: right or wrong, money, seconds. A line is written as soon as a
run ends; the same command again goes on where it was. A run that fails on its arm goes on with others, as in life:
what is recorded is the run's end, and all its money.

``replay`` serves the recorded tasks to routers that hear of the chosen arm only. Per seed the tasks are halved by
chance: the router learns from 300 runs over one half (in new order each time round) and is judged on the other
half, which it has not seen. Rivals: ``random``, ``static`` (the first arm that can) and each model always. The
learned router gets, as budget per request, what the rival spends there, or less if it would spend more. Each token
costs ``--price`` of its model, in USD per million, whatever it was when the table was recorded.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pointwork.agents import Team
from pointwork.agents.services import LATENCY_WEIGHT
from pointwork.bench.metering import Meters
from pointwork.bench.systems import seed_of
from pointwork.bench.tasks import Task, choose, starter_tasks
from pointwork.cli.bench import with_settings
from pointwork.errors import PointworkError
from pointwork.extras import require
from pointwork.models import ChatRequest, Completion, ModelClient, Price
from pointwork.models.structured import SchemaViolation
from pointwork.router import Arm, Outcome, Router, Settings
from pointwork.router.policies.static import Static
from pointwork.settings import Settings as Config
from pointwork.settings import load
from pointwork.store import tables

RUNS = 300
POINTS = (0, 25, 50, 100, 200, RUNS)  # of the picture
PARTS = (1.0, 0.85, 0.7, 0.55, 0.4, 0.3, 0.2)  # of the rival's money, as a budget
PRICE = Price(0.10, 0.40)  # USD per million tokens, as in ``pointwork bench starter``
Row = dict[str, Any]


class Repeats:
    """A model that is asked the same only once: at temperature 0 it would say the same again.

    What it said is counted and charged each time. Nothing times out, as the table must not depend on what else
    the machine does.
    """

    def __init__(self, client: ModelClient) -> None:
        self._client = client
        self._said: dict[str, Completion | SchemaViolation] = {}

    async def chat(self, request: ChatRequest) -> Completion:
        """As of the model, or as before."""
        request = replace(request, timeout=3600.0)
        known = self._said.get(repr(request))
        if known is None:
            try:
                known = await self._client.chat(request)
            except SchemaViolation as error:
                known = error
            if request.temperature == 0.0:
                self._said[repr(request)] = known
        if isinstance(known, SchemaViolation):
            raise known
        return known

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)


def record(
    out: Path, limit: int | None, modes: Sequence[str], models: Sequence[str], changes: Sequence[str]
) -> None:
    """Fill the table of tasks and arms, from where it stands."""
    config = with_settings(load(), list(models), list(changes))
    known = {(row["task"], row["wanted"]) for row in read(out)} if out.exists() else set[tuple[str, str]]()
    meters, empty = Meters(config, PRICE), tempfile.mkdtemp(prefix="pointwork-routing-")
    for meter in {id(meter): meter for meter in meters.by_role.values()}.values():
        meter._client = Repeats(meter._client)  # pyright: ignore[reportPrivateUsage]
    tasks = choose(starter_tasks("train"), limit=limit)
    with out.open("a", encoding="utf-8") as file:
        for number, task in enumerate(tasks, 1):
            able = next((row["candidates"] for row in read(out) if row["task"] == task.id), None)
            if able is None:
                first = _keep(file, ran(config, meters, task, None, Path(empty)))
                able = first["candidates"]
                known.add((task.id, first["wanted"]))
            for arm in able:
                if (task.id, arm) not in known and arm.rsplit("/", 1)[-1] in modes:
                    row = _keep(file, ran(config, meters, task, arm, Path(empty)))
                    print(
                        f"{number}/{len(tasks)} {task.id} {arm}: {'right' if row['right'] else 'wrong'}", flush=True
                    )


def ran(config: Config, meters: Meters, task: Task, arm: str | None, empty: Path) -> Row:
    """One run with one arm preferred (None: the first), from a fresh start."""
    from sqlalchemy import select

    router = config.router.model_copy(update={"seed": seed_of(0, task.id), "policy": "static"})
    team = Team(config=config.model_copy(update={"router": router}), store="sqlite://", models=meters.by_role)
    core = team.router._core  # pyright: ignore[reportPrivateUsage]
    core.policy, core.settings = Static(arm), replace(core.settings, exploration=0.0)
    meters.take()
    row: Row = {"task": task.id, "kind": task.kind, "text": task.text, "wanted": arm or ""}
    try:
        result = team.run(task.text, root=task.root or empty)
        row |= {"right": _right(task, result.text), "status": result.status, "answer": result.text}
        row |= {"chosen": [decided.arm for decided in result.decisions]}
        row["wanted"] = row["wanted"] or next(iter(row["chosen"]), "")  # the first look: the first arm that can
        row |= {"seconds": sum(decided.seconds for decided in result.decisions)}
    except PointworkError as error:
        row |= {"right": False, "status": f"{type(error).__name__}", "answer": "", "chosen": [], "seconds": 0.0}
    try:
        table = tables.decisions
        first = team.services.store.row(select(table.c.candidates).order_by(table.c.clock))
        row["candidates"] = [] if first is None else first["candidates"]
        row["tries"] = _tries(team, task)
        row["arms"] = {
            name: {
                "usd_per_mtok": [PRICE.prompt, PRICE.completion],
                "expected_tokens": known.expected_tokens,
                "description": known.description,
            }
            for known in team.router.arms
            for name in [known.name]
            if name in row["candidates"]
        }
    finally:
        team.close()
    used = {meter.name: meter.take() for meter in {id(meter): meter for meter in meters.by_role.values()}.values()}
    row["tokens"] = {name: [one.prompt_tokens, one.completion_tokens] for name, one in used.items()}
    return row | {"usd": sum(one.usd for one in used.values())}


def _right(task: Task, text: str) -> bool:
    return bool(text.strip()) and task.checker.right(text)


def _tries(team: Team, task: Task) -> list[Row]:
    """What each try of a run answered, in order: for votes between arms."""
    from sqlalchemy import select

    store, steps, decisions, outcomes = team.services.store, tables.steps, tables.decisions, tables.outcomes
    arms = {row["id"]: row["arm"] for row in store.rows(select(decisions))}
    spent = {row["decision_id"]: row["usd"] for row in store.rows(select(outcomes)) if row["usd"] is not None}
    found: list[Row] = []
    for step in store.rows(select(steps).where(steps.c.kind == "verify").order_by(steps.c.id)):
        said = step["output"]
        text = said["text"] or ""
        found.append(
            {
                "try": step["subtask"],
                "arm": arms.get(said["decision"]),
                "status": said["status"],
                "text": text,
                "right": _right(task, text),
                "usd": spent.get(said["decision"]),
            }
        )
    return found


def _keep(file: Any, row: Row) -> Row:
    file.write(json.dumps(row, ensure_ascii=False) + "\n")
    file.flush()
    return row


def read(path: Path) -> Iterator[Row]:
    """The rows of a table; a line that was cut off by a kill is passed over."""
    for line in path.read_text(encoding="utf-8").split("\n"):
        try:
            yield json.loads(line)
        except ValueError:
            continue


class Table:
    """What each arm made of each task.

    Attributes:
        arms: all. tasks: text and outcomes by arm, of tasks that more than one arm can begin.
    """

    def __init__(self, path: Path, prices: Mapping[str, tuple[float, float]]) -> None:
        arms: dict[str, Arm] = {}
        self.tasks: dict[str, tuple[str, dict[str, Outcome]]] = {}
        for row in read(path):
            if not row["wanted"] or row["wanted"] not in row["chosen"][:1]:
                continue  # no arm was asked, or another one began
            usd = sum(
                np.dot(prices[model], tokens) / 1e6 if model in prices else PRICE.nano(*tokens) / 1e9
                for model, tokens in row["tokens"].items()
            )
            said = Outcome(float(row["right"]), float(usd), float(row["seconds"]))
            self.tasks.setdefault(row["task"], (row["text"], {}))[1][row["wanted"]] = said
            for name, known in row["arms"].items():
                tokens = known["expected_tokens"]
                price = next((prices[m] for m in prices if f"/{m}/" in name), known["usd_per_mtok"])
                arms[name] = Arm(name, tuple(price), known["description"], expected_tokens=tuple(tokens))
        self.tasks = {task: what for task, what in self.tasks.items() if len(what[1]) > 1}
        self.arms = [arm for arm in arms.values() if any(arm.name in what[1] for what in self.tasks.values())]

    def serve(self, router: Router, order: Sequence[str]) -> tuple[float, float]:
        """Share right and mean US dollars of these tasks, the router learning as it goes."""
        right, usd = list[float](), list[float]()
        for task in order:
            text, outcomes = self.tasks[task]
            decision = router.decide(text, candidates=list(outcomes))
            outcome = outcomes[decision.arm]
            router.learn(decision.id, outcome)
            right.append(outcome.quality or 0.0)
            usd.append(outcome.usd or 0.0)
        return float(np.mean(right)), float(np.mean(usd))

    @property
    def rivals(self) -> list[str]:
        """Random, static, and always the same model, where there is more than one."""
        models = list(dict.fromkeys(arm.name.split("/")[1] for arm in self.arms))
        return ["random", "static", *(models if len(models) > 1 else [])]

    def by_model(self, task: str, model: str) -> Outcome:
        """What the first arm of a model made of a task; where none can, the first arm."""
        outcomes = self.tasks[task][1]
        return next(
            (said for arm, said in outcomes.items() if arm.split("/")[1] == model), next(iter(outcomes.values()))
        )

    def best(self, task: str) -> tuple[float, float]:
        """Right or not, and US dollars, of the cheapest right arm, else of the cheapest."""
        each = [(said.quality or 0.0, said.usd or 0.0) for said in self.tasks[task][1].values()]
        return max(each, key=lambda one: (one[0], -one[1]))

    def router(self, policy: str, budget: float | None, seed: int) -> Router:
        """A router with the team's settings."""
        return Router(self.arms, policy, budget, seed, settings=Settings(latency_weight=LATENCY_WEIGHT))


def replayed(table: Table, seeds: int) -> dict[str, dict[str, float]]:
    """By rival: share right and money, the learned router's for no more money, the paired gain, its half-width.

    A router holds its budget over hundreds of requests, and these are a few dozen: it is lowered until the learned
    one has not spent more than the rival. ``oracle`` is no rival: the cheapest right arm of each task, if any.
    """
    halves = [_halved(table, seed) for seed in range(seeds)]
    found: dict[str, dict[str, float]] = {}
    for name in table.rivals:
        theirs = np.array([_rival(table, name, judged, seed) for seed, (_, judged) in enumerate(halves)])
        mine = theirs
        for part in PARTS:
            mine = np.array(
                [
                    _learned(table, runs, judged, max(part * usd, 1e-9), seed)
                    for seed, ((runs, judged), usd) in enumerate(zip(halves, theirs[:, 1].tolist(), strict=True))
                ]
            )
            if mine[:, 1].mean() <= theirs[:, 1].mean():
                break
        gain = mine[:, 0] - theirs[:, 0]
        margin = float(_margin(gain)) if seeds > 1 else 0.0
        means = [*theirs.mean(axis=0).tolist(), *mine.mean(axis=0).tolist(), float(gain.mean()), margin]
        keys = ("right", "usd", "learned right", "learned usd", "gain", "margin")
        found[name] = dict(zip(keys, means, strict=True))
    best = np.array([[table.best(task) for task in judged] for _, judged in halves]).mean(axis=(0, 1))
    found["oracle"] = dict(zip(("right", "usd"), best.tolist(), strict=True))
    return found


def _halved(table: Table, seed: int) -> tuple[list[str], list[str]]:
    """The runs to learn from, over one half of the tasks, and the other half."""
    rng = np.random.default_rng(seed)
    tasks = rng.permutation(sorted(table.tasks)).tolist()
    seen, judged = tasks[: len(tasks) // 2], tasks[len(tasks) // 2 : len(tasks) // 2 * 2]
    return [task for _ in range(RUNS // len(seen) + 1) for task in rng.permutation(seen).tolist()][:RUNS], judged


def _rival(table: Table, name: str, judged: Sequence[str], seed: int) -> tuple[float, float]:
    if name in ("random", "static"):
        return table.serve(table.router(name, None, seed), judged)
    said = [table.by_model(task, name) for task in judged]
    return float(np.mean([one.quality or 0.0 for one in said])), float(np.mean([one.usd or 0.0 for one in said]))


def _learned(
    table: Table, runs: Sequence[str], judged: Sequence[str], usd: float, seed: int
) -> tuple[float, float]:
    learned = table.router("linucb", usd, seed)
    if runs:
        table.serve(learned, runs)
    # what it saved there it may not spend here, where the rival has only its budget
    learned._core.pacer.debt = 0.0  # pyright: ignore[reportPrivateUsage]
    return table.serve(learned, judged)


def plot(table: Table, seeds: int, path: Path) -> None:
    """Draw share right and money on the half that is judged, after more and more runs, beside the rivals."""
    require("matplotlib.backends.backend_agg")
    figure = require("matplotlib.figure").Figure(figsize=(9, 3.6), layout="constrained")
    halves = [_halved(table, seed) for seed in range(seeds)]
    budget = [_rival(table, "random", judged, seed)[1] for seed, (_, judged) in enumerate(halves)]
    learned = np.array(
        [
            [
                _learned(table, runs[:count], judged, budget[seed], seed)
                for seed, (runs, judged) in enumerate(halves)
            ]
            for count in POINTS
        ]
    )
    rivals = {name: [_rival(table, name, half[1], n) for n, half in enumerate(halves)] for name in table.rivals}
    rivals["oracle"] = [tuple(np.mean([table.best(task) for task in judged], axis=0)) for _, judged in halves]
    for place, axes in enumerate(figure.subplots(1, 2)):
        scale = (100.0, 1000.0)[place]
        middle, half = learned[:, :, place].mean(1) * scale, _margin(learned[:, :, place].T) * scale
        axes.plot(POINTS, middle, color="C0", marker="o", label="learned router, at the money of random")
        axes.fill_between(POINTS, middle - half, middle + half, color="C0", alpha=0.2)
        for number, (name, said) in enumerate(rivals.items(), 1):
            axes.axhline(np.mean(said, axis=0)[place] * scale, color=f"C{number}", linestyle="--", label=name)
        axes.set_xlabel("runs that were learnt from")
        axes.set_ylabel(("right, % of tasks not seen", "USD per 1000 tasks")[place])
        axes.set_ylim(bottom=0 if place else None)
    figure.axes[0].legend(fontsize=7)
    figure.savefig(path, dpi=120)


def _margin(rows: np.ndarray) -> np.ndarray:
    """Half-width of the 95 % interval of the mean over rows."""
    return 1.96 * rows.std(axis=0, ddof=1) / len(rows) ** 0.5


def priced(text: str) -> tuple[float, float]:
    """``PROMPT,COMPLETION`` in USD per million tokens."""
    prompt, completion = map(float, text.split(","))
    return prompt, completion


def main() -> None:
    """Record or replay."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("record", "replay"))
    parser.add_argument("table", type=Path)
    parser.add_argument("--limit", type=int, help="most tasks, of each kind in turn")
    parser.add_argument("--modes", default="instant,reasoning,agentic", help="modes of arms to record")
    parser.add_argument("--model", action="append", default=[], help="ROLE=MODEL, as in pointwork bench starter")
    parser.add_argument("--price", action="append", default=[], help="MODEL=PROMPT,COMPLETION in USD per million")
    parser.add_argument("--set", action="append", default=[], help="KEY=VALUE of pointwork.toml")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--plot", type=Path, help="draw how it learns here (PNG; at least two seeds)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.what == "record":
        record(options.table, options.limit, options.modes.split(","), options.model, options.set)
        return
    prices = {name: priced(price) for name, _, price in (given.rpartition("=") for given in options.price)}
    table = Table(options.table, prices)
    if len(table.tasks) < 2:
        parser.error(f"{options.table} has {len(table.tasks)} tasks that two arms began: record more")
    if options.plot is not None:
        plot(table, max(2, options.seeds), options.plot)
    found = replayed(table, options.seeds)
    if options.json:
        print(json.dumps(found, indent=2))
        return
    print(f"{len(table.tasks)} tasks, {len(table.arms)} arms, {options.seeds} seeds")
    for name, row in found.items():
        print(f"{name:50}", *(f"{key} {value:.4g}" for key, value in row.items()))


if __name__ == "__main__":
    main()

"""Publication, measured: seconds from optimiser step to verified serving, false alarms, faults found, runs in the
flow.

    python benchmarks/publication.py --out DIR [--target auto|vllm|llama.cpp] [--url http://127.0.0.1:8000/v1]

With vLLM installed and a GPU, ``auto`` starts a vLLM server here (enforce-eager, 90 s) and trains on the same GPU;
else the same is done with llama.cpp on the CPU. ``--url`` takes a server that is running. Every part appends to
files in DIR and goes on where it was when it is started again:

    good      real optimiser steps (r = 16, all seven linear layers), each published; every refusal is a false alarm
    faults    the same with something wrong between publisher and server; every success is a miss
    flow      team.run with two adapters live; one GRPO step each on its trajectories; published; the next run's
    ledger

DIR/summary.json holds the figures, DIR/coefficients.png the picture. On the GPU all of it takes under 8 minutes.
"""

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from alone import alone
from safetensors.torch import load_file, save_file
from sqlalchemy import select

from pointwork.errors import PublicationError
from pointwork.models import weights
from pointwork.models.adapters import live
from pointwork.models.serving import vllm_command
from pointwork.store import Store
from pointwork.store.tables import ledger, runs, steps
from pointwork.training.bases import directory_of
from pointwork.training.lora import Lora
from pointwork.training.model import LocalModel
from pointwork.training.packing import Sample, pack
from pointwork.training.publication.gguf_lora import CONFIG, WEIGHTS
from pointwork.training.publication.llama import LlamaTarget
from pointwork.training.publication.probes import TEXTS, default_probes
from pointwork.training.publication.publisher import Publisher, plain
from pointwork.training.publication.scoring import TorchScorer
from pointwork.training.publication.target import Probe, Target, Version
from pointwork.training.publication.vllm import VllmTarget

FAULTS = ("not delivered", "previous version", "wrong scale", "truncated", "other adapter", "restarted")
ROLE = "planner"


class Tampered:
    """A target between whose publisher and server something goes wrong.

    Attributes:
        fault: one of ``FAULTS``, None: nothing.
        parent: folder of the version before, for ``previous version``.
        verdict: of the last probe, as the publisher refuses it.
    """

    def __init__(self, inner: Target, folder: Path) -> None:
        self._inner, self._folder = inner, folder
        self.fault: str | None = None
        self.parent: Path | None = None
        self.kind, self.base, self.lasting = inner.kind, inner.base, inner.lasting
        self.prepare, self.unload, self.loaded = inner.prepare, inner.unload, inner.loaded
        self.score, self.place, self.close = inner.score, inner.place, inner.close

    def load(self, version: Version) -> None:
        """Load it, or what the fault makes of it."""
        if self.fault is None:
            self._inner.load(version)
            return
        folder = self._folder / version.name
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.parent if self.fault == "previous version" and self.parent else version.folder, folder)
        if self.fault == "wrong scale":
            said = json.loads((folder / CONFIG).read_text())
            (folder / CONFIG).write_text(json.dumps({**said, "lora_alpha": 2 * said["lora_alpha"]}))
        elif self.fault in ("not delivered", "other adapter"):
            spoil(folder / WEIGHTS, self.fault)
        other = Version(version.name, folder)
        served = self._inner.prepare(other)
        if self.fault == "truncated":
            served.write_bytes(served.read_bytes()[: served.stat().st_size * 2 // 3])
        self._inner.load(other)
        if self.fault == "restarted":
            self._inner.unload(version.name)


def spoil(file: Path, fault: str) -> None:
    """An adapter that does nothing, or a random one."""
    generator = torch.Generator().manual_seed(1)
    found = load_file(file)
    for name, value in found.items():
        if "lora_B" in name:
            size = 4 * float(value.std()) if fault == "other adapter" else 0.0
            found[name] = torch.randn(value.shape, generator=generator) * size
    save_file(found, file, metadata={"format": "pt"})


class Student:
    """A model that is trained on shuffled questions and answers: each version has something new to learn."""

    def __init__(self, rate: float) -> None:
        self.model = LocalModel.load("embedded", lora=Lora(rank=16, alpha=32))
        self.optimiser = torch.optim.AdamW(list(self.model.trained().values()), lr=rate)

    def step(self, number: int, pairs: int = 3) -> None:
        """One optimiser step."""
        rng = np.random.default_rng(number)
        samples: list[Sample] = []
        for _ in range(pairs):
            question, answer = TEXTS[int(rng.integers(len(TEXTS)))][0], TEXTS[int(rng.integers(len(TEXTS)))][1]
            chat = [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
            samples.append(self.model.sample_of(chat))
        self.take(samples)

    def take(self, samples: list[Sample]) -> None:
        """One optimiser step on samples with advantages."""
        self.optimiser.zero_grad()
        tokens = sum(len(sample.completion_ids) for sample in samples)
        for part in pack(samples):
            advantage = torch.tensor([samples[member].advantage for member in part.members])[part.sequence]
            scores = self.model.score(part)
            (-(scores.logprobs * advantage.to(scores.logprobs)).sum() / tokens).backward()
        self.optimiser.step()
        if self.model.device.type == "cuda":
            torch.cuda.synchronize()


class Log:
    """Rows of one part, in a file that survives the process."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.rows: list[dict[str, Any]] = []
        if file.is_file():
            self.rows = [json.loads(line) for line in file.read_text().splitlines()]

    def add(self, row: dict[str, Any]) -> None:
        """Append, at once."""
        self.rows.append(row)
        with self.file.open("a") as stream:
            stream.write(json.dumps(row) + "\n")
        print(json.dumps({key: value for key, value in row.items() if key != "verdict"}), flush=True)


def attempt(publisher: Publisher, student: Student, out: Path, role: str = ROLE) -> dict[str, Any]:
    """Save and publish what the student is now; what came of it."""
    started = time.perf_counter()
    student.model.save(out / "adapter")
    saved = time.perf_counter() - started
    row: dict[str, Any] = {"saved": saved}
    try:
        done = publisher.publish(out / "adapter", role)
        row |= {"answer": "delivered", "version": done.version, "verdict": plain(done.worst)}
        row |= {"seconds": {name: round(value, 4) for name, value in done.seconds.items()}}
    except PublicationError as error:
        newest = publisher.versions.all(role)
        probe = (newest[0]["metrics"].get("probe") or [None])[0] if newest else None
        row |= {"answer": probe["answer"] if probe else "refused", "verdict": probe, "error": str(error)[:300]}
    row["whole"] = time.perf_counter() - started
    return row


def good(publisher: Publisher, student: Student, out: Path, count: int, rows: Log) -> None:
    """Publish steps; ``seconds`` counts from the end of the optimiser's step."""
    for number in range(len(rows.rows), count):
        student.step(2 * number)
        student.step(2 * number + 1)
        rows.add({"number": number, **attempt(publisher, student, out)})


def faults(publisher: Publisher, target: Tampered, student: Student, out: Path, rounds: int, rows: Log) -> None:
    """Publish with each fault; a good publication follows each round."""
    done = len(rows.rows)
    for number, fault in enumerate(FAULTS * rounds):
        if number < done:
            continue
        now = publisher.versions.live(ROLE)
        target.parent = None if now is None else Path(now["path"])
        student.step(10_000 + 2 * number)
        student.step(10_001 + 2 * number)
        target.fault = fault
        row = attempt(publisher, student, out)
        target.fault = None
        still = publisher.versions.live(ROLE)
        kept = (still and still["id"]) == (now and now["id"])
        rows.add({"fault": fault, "found": row["answer"] != "delivered", "kept": kept, **row})


def flow(
    store: Store, publisher: Publisher, students: dict[str, Student], out: Path, config: Path, rows: Log
) -> None:
    """Runs of the runtime on two live adapters, a step of each on its trajectories, runs on the new versions."""
    nothing = out / "nothing"  # to be read
    nothing.mkdir(exist_ok=True)
    for round_ in range(len({row["round"] for row in rows.rows}), 2):
        for number, (role, student) in enumerate(students.items()):
            student.step(20_000 + 10 * round_ + number)
            student.step(20_005 + 10 * round_ + number)
            print(attempt(publisher, student, out, role).get("error", "published"), role, flush=True)
        tasks = ("Add 17 and 25, then multiply the result by 3.", "Write one sentence about the sea.")
        for task in tasks:
            env = {**os.environ, "POINTWORK_CONFIG": str(config)}
            command = [sys.executable, "-m", "pointwork", "run", task, "--json"]
            ran = subprocess.run(command, env=env, cwd=nothing, capture_output=True, text=True, timeout=300)
            reply = json.loads(ran.stdout) if ran.stdout.strip() else {"run_id": None, "error": ran.stderr[-300:]}
            run = reply["run_id"]
            booked = store.rows(select(ledger).where(ledger.c.run_id == run, ledger.c.kind == "settle"))
            called = sorted({(row["by"], row["model_version"]) for row in booked if row["model"]})
            now = {role: (found := live(store, role)) and found.version for role in students}
            rows.add({"round": round_, "run": run, "status": reply.get("status"), "live": now, "ledger": called})
        for role, student in students.items():
            learn(store, student, role)


def learn(store: Store, student: Student, role: str) -> None:
    """One policy-gradient step on what the runtime's model wrote in a role: its tokens, as the server gave them."""
    mine = (steps.c.kind == "model", steps.c.role == role, steps.c.token_ids.is_not(None))
    written = store.rows(select(steps).where(*mine))
    known = {row["id"]: row["status"] for row in store.rows(select(runs.c.id, runs.c.status))}
    samples: list[Sample] = []
    for row in written[-8:]:
        prompt = student.model.chat_ids(row["input"]["messages"])
        value = 1.0 if known.get(row["run_id"]) == "ok" else -0.5
        samples.append(Sample(prompt, tuple(row["token_ids"]), value))
    print(f"{role} learns from {len(samples)} turns of {len(written)}", flush=True)
    if samples:
        student.take(samples)


def picture(out: Path, good_rows: list[dict[str, Any]], fault_rows: list[dict[str, Any]]) -> None:
    """Coefficients with four standard errors, and what is left unexplained, by what really served."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.patches import Rectangle

    shown = [("good", row["verdict"]) for row in good_rows] + [(row["fault"], row["verdict"]) for row in fault_rows]
    figure, axes = pyplot.subplots(figsize=(8, 4.5))
    axes.add_patch(Rectangle((0.8, 1e-3), 0.4, 1 - 1e-3, color="green", alpha=0.1, label="delivered"))
    for kind in ("good", *FAULTS):
        mine = [v for name, v in shown if name == kind and v and v["coefficient"] is not None]
        if mine:
            left = [v["residual"] / max(2 * v["noise"], v["step"] / 4) for v in mine]
            errors = [4 * v["error"] for v in mine]
            name = f"{kind}, n = {len(mine)}"
            axes.errorbar([v["coefficient"] for v in mine], left, xerr=errors, fmt="o", ms=4, lw=0.8, label=name)
    axes.axvline(1, color="grey", lw=0.8)
    axes.axvline(0, color="grey", lw=0.8, ls="--")
    axes.set_yscale("log")
    axes.set_ylim(0.1, None)
    axes.set_xlabel("coefficient ± 4 standard errors (1: the new version; 0: the one before)")
    axes.set_ylabel("left unexplained / what is allowed")
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.tight_layout()
    figure.savefig(out / "coefficients.png", dpi=130)


def summary(out: Path, target: Target, logs: dict[str, Log]) -> dict[str, Any]:
    """The figures, also into ``summary.json``."""
    good_rows, fault_rows, flow_rows = logs["good"].rows, logs["faults"].rows, logs["flow"].rows
    delivered = [row for row in good_rows if row["answer"] == "delivered"]
    verdicts = [row["verdict"] for row in delivered]
    whole = [row["saved"] + row["seconds"]["whole"] for row in delivered]
    z = [(v["coefficient"] - 1) / v["error"] for v in verdicts]
    found: dict[str, Any] = {
        "target": target.kind,
        "device": torch.cuda.get_device_name()
        if torch.cuda.is_available()
        else f"cpu, load {os.getloadavg()[0]:.1f}",
        "good": {
            "published": len(good_rows),
            "delivered": len(delivered),
            "false_alarms": sum(row["answer"] in ("not delivered", "refused") for row in good_rows),
            "indistinguishable": sum(row["answer"] == "indistinguishable" for row in good_rows),
        },
        "faults": {
            fault: {
                "injected": len(mine := [row for row in fault_rows if row["fault"] == fault]),
                "found": sum(row["found"] for row in mine),
                "nothing_switched": sum(row["kept"] for row in mine),
                "named": sorted({row["verdict"]["named"] if row["verdict"] else "load refused" for row in mine}),
            }
            for fault in FAULTS
        },
        "flow": [{"live": row["live"], "ledger": row["ledger"], "status": row["status"]} for row in flow_rows],
    }
    if delivered:
        parts = ("prepare", "load", "probe", "switch")
        found["coefficient"] = {
            "mean": float(np.mean([v["coefficient"] for v in verdicts])),
            "min": min(v["coefficient"] for v in verdicts),
            "max": max(v["coefficient"] for v in verdicts),
            "z_sd": float(np.std(z)),
            "z_max": float(np.max(np.abs(z))),
            "residual_over_noise_max": max(v["residual"] / v["noise"] for v in verdicts),
            "step_nat": [min(v["step"] for v in verdicts), max(v["step"] for v in verdicts)],
            "noise_nat": float(np.mean([v["noise"] for v in verdicts])),
        }
        found["seconds"] = {
            "from_step_to_verified_median": float(np.median(whole)),
            "from_step_to_verified_p95": float(np.quantile(whole, 0.95)),
            "without_the_first_max": max(whole[1:], default=None),
            **{name: float(np.median([row["seconds"][name] for row in delivered])) for name in parts},
        }
    (out / "summary.json").write_text(json.dumps(found, indent=1))
    return found


@contextmanager
def served(asked: argparse.Namespace, out: Path) -> Iterator[tuple[Target, str]]:
    """The target, and what the configuration says for it."""
    kind = asked.target
    if kind == "auto":
        can = importlib.util.find_spec("vllm") is not None and torch.cuda.is_available()
        kind = "vllm" if can or asked.url else "llama.cpp"
    hf = directory_of("embedded")
    if kind == "llama.cpp":
        print("no GPU with vLLM here: llama.cpp on the CPU" if asked.target == "auto" else kind, flush=True)
        yield LlamaTarget(hf=hf, threads=asked.threads), "local:"
        return
    name, url, process = weights.SMOLLM2_135M.name, asked.url, None
    if url is None:
        more = ["--enforce-eager", "--gpu-memory-utilization", "0.4", "--dtype", "bfloat16"]
        command = vllm_command(hf, name, port=asked.port, rank=16, slots=4, context=4096, more=more)
        url = command.address
        print(command.shown(), flush=True)
        with (out / "vllm.log").open("ab") as log:
            env = {**os.environ, **command.env}
            process = subprocess.Popen(command.argv, env=env, stdout=log, stderr=log)
    target = VllmTarget([url], name)
    try:
        started = time.perf_counter()
        target.wait(600, lambda: process is None or process.poll() is None)
        print(f"vLLM answers after {time.perf_counter() - started:.0f} s", flush=True)
        yield target, f"{url}#{name}"
    finally:
        target.close()
        if process is not None:
            process.terminate()
            process.wait(60)


def main() -> None:
    """Run what is left to run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--target", choices=("auto", "vllm", "llama.cpp"), default="auto")
    parser.add_argument("--url", help="a vLLM server that is running")
    parser.add_argument("--port", type=int, default=8011)
    parser.add_argument("--good", type=int, default=50, help="publications of good steps")
    parser.add_argument("--rounds", type=int, default=3, help="of each fault")
    parser.add_argument("--probes", type=int, default=12)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--rate", type=float, default=1e-3, help="learning rate")
    parser.add_argument("--skip-flow", action="store_true")
    asked = parser.parse_args()
    out: Path = asked.out.expanduser().resolve()
    out.mkdir(parents=True, exist_ok=True)
    logs = {name: Log(out / f"{name}.jsonl") for name in ("good", "faults", "flow")}
    store = Store(f"sqlite:///{out / 'store.db'}")
    with served(asked, out) as (inner, spec):
        target = Tampered(inner, out / "tampered")
        base = directory_of("embedded")
        probes: list[Probe] = default_probes(base)[: asked.probes]
        scorer = TorchScorer("embedded")
        publisher = Publisher(store, target, scorer, probes, folder=out / "versions")
        student = Student(asked.rate)
        now = publisher.versions.live(ROLE)
        if now is not None:
            student.model.restore(Path(now["path"]))
        config = out / "pointwork.toml"
        lines = [
            f'store = "sqlite:///{out / "store.db"}"',
            '[run]\nreadings = "never"',
            '[planner]\nmode = "model"',
        ]
        lines += [f'[models.{role}]\nmodel = "{spec}"' for role in ("planner", "worker-small", "worker-large")]
        config.write_text("\n".join(lines) + "\n")
        try:
            with alone():
                good(publisher, student, out, asked.good, logs["good"])
            faults(publisher, target, student, out, asked.rounds, logs["faults"])
            if not asked.skip_flow:
                students = {ROLE: student, "worker-small": Student(asked.rate)}
                flow(store, publisher, students, out, config, logs["flow"])
        finally:
            print(json.dumps(summary(out, inner, logs), indent=1), flush=True)
            picture(out, logs["good"].rows, logs["faults"].rows)
            inner.close()


if __name__ == "__main__":
    main()

"""What wants a GPU, in one go: GRPO beside TRL, publication and the flow on vLLM, Seal-Tools over three seeds.

    python benchmarks/gpu.py --data BENCH_DATA --out OUT [--seconds 560] [--url http://127.0.0.1:8011/v1]

Two lines of parts run side by side: those that use a vLLM server (started here where there are such, or ``--url``),
and the others. The trainings of Seal-Tools run beside both. All but a part that measures a time stand still
meanwhile (``alone.py``).
The same command again does what is left, also what failed (growth, half a minute, anew). OUT gets a log and a
result of each.
"""

import argparse
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from alone import AFTER, VARIABLE

HERE = Path(__file__).parent
SERVED = "SmolLM2-135M-Instruct"
PARTS = ("speed", "growth", "publication", "loop")
PROBING = ("publication", "loop")
STARTS = 240.0  # seconds that a server may take to start


def serve(out: Path, port: int, rehearse: bool) -> tuple["subprocess.Popen[bytes]", str]:
    """Start the server; it answers some time later."""
    from pointwork.models.serving import vllm_command
    from pointwork.training.bases import directory_of

    more = ["--dtype", "bfloat16"]
    # Others take memory while it starts: a fixed size of keys and values, and a share that is surely free. (With
    # vLLM's own share, nine tenths, it refuses to start beside anything else.)
    more += ["--enforce-eager"] if rehearse else ["--kv-cache-memory-bytes", str(8 << 30)]
    more += [] if rehearse else ["--gpu-memory-utilization", "0.2"]
    command = vllm_command(directory_of("embedded"), SERVED, port=port, rank=32, slots=8, context=4096, more=more)
    with (out / "vllm.log").open("ab") as log:
        process = subprocess.Popen(command.argv, env={**os.environ, **command.env}, stdout=log, stderr=log)
    return process, command.address


class Beside:
    """Processes that stop while another measures: while the file ``alone`` is there, which names its group."""

    def __init__(self, alone: Path) -> None:
        self._alone, self._ended = alone, threading.Event()
        self._trainings: list[subprocess.Popen[bytes]] = []
        self._parts: list[subprocess.Popen[bytes]] = []
        self._chains: list[threading.Thread] = []
        self._stopped: int | None = None
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def start(self, commands: Sequence[list[str]], log: Path) -> None:
        """Start a training, or several that follow each other: the first at once, none after one that failed."""

        def started(command: list[str]) -> "subprocess.Popen[bytes]":
            with log.open("ab") as stream:
                process = subprocess.Popen(command, stdout=stream, stderr=stream, start_new_session=True)
            self._trainings.append(process)
            return process

        def others(process: "subprocess.Popen[bytes]") -> None:
            for command in commands[1:]:
                if process.wait() or self._ended.is_set():
                    return
                process = started(command)

        process = started(commands[0])
        if len(commands) > 1:
            chain = threading.Thread(target=others, args=(process,), daemon=True)
            self._chains.append(chain)
            chain.start()

    def add(self, part: "subprocess.Popen[bytes]") -> None:
        """One that leads a group of its own, and ends by itself."""
        self._parts.append(part)

    def _watch(self) -> None:
        while not self._ended.wait(0.1):
            owner: int | None = None
            with suppress(OSError, ValueError):  # one that was killed while it measured is nobody
                found = int(self._alone.read_text())
                os.killpg(found, 0)
                owner = found
            if owner != self._stopped:
                self._signal(signal.SIGCONT)
                self._stopped = owner
            if owner is not None:  # again and again: others may have started meanwhile
                self._signal(signal.SIGSTOP, owner)

    def _signal(self, number: int, but: int | None = None) -> None:
        for process in [*self._trainings, *self._parts]:
            if process.poll() is None and process.pid != but:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, number)

    def wait(self, until: float) -> None:
        """For all trainings, so long."""
        for chain in self._chains:
            chain.join(max(0.0, until - time.monotonic()))
        for process in self._trainings:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, until - time.monotonic()))

    def end(self, seconds: float = 15.0) -> None:
        """Those that are late are interrupted, which saves their step, and killed in the end."""
        until = time.monotonic() + seconds
        self._ended.set()
        self._thread.join()
        self._signal(signal.SIGCONT)
        for process in self._trainings:
            process.send_signal(signal.SIGINT)
        for process in self._trainings:
            try:
                process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)


def commands(asked: argparse.Namespace, out: Path, url: str, left: float) -> dict[str, list[str]]:
    """What each part runs."""
    from pointwork.training.bases import directory_of

    few = ["--rehearse"] if asked.rehearse else []
    speed = [str(HERE / "grpo.py"), "--folder", str(out / "speed"), "--json", str(out / "speed.json"), *few]
    speed += ["--seconds", str(max(30.0, left - 60))]  # its table, and growth, are done too
    published = [str(HERE / "publication.py"), "--out", str(out / "publication"), "--url", url]
    published += ["--good", "2", "--rounds", "1", "--probes", "4"] if asked.rehearse else []
    loop = ["-m", "pointwork", "train", "loop", "--role", "worker-small", "--out", str(out / "loop"), "--json"]
    loop += ["--base", str(directory_of("embedded")), "--workers", "2" if asked.rehearse else "8"]
    loop += (
        ["--trials", "4", "--limit", "2", "--steps", "1"]
        if asked.rehearse
        else ["--trials", "48", "--limit", "20", "--steps", "4"]
    )
    growth = [str(HERE / "grpo_growth.py"), "--json", str(out / "growth.json"), "--png", str(out / "growth.png")]
    growth += ["--seconds", "15" if asked.rehearse else "30"]
    return {"speed": speed, "publication": published, "loop": loop, "growth": growth}


def configured(out: Path, url: str) -> Path:
    """A configuration whose roles the server serves."""
    lines = [f'store = "sqlite:///{out / "loop.db"}"']
    for role in ("planner", "worker-small", "worker-large"):
        lines += [f"[models.{role}]", f'model = "{url}#{SERVED}"']
    file = out / "pointwork.toml"
    file.write_text("\n".join(lines) + "\n")
    return file


def answers(url: str, server: "subprocess.Popen[bytes] | None", seconds: float) -> bool:
    """Wait until the server answers; whether it does."""
    from pointwork.errors import PublicationError
    from pointwork.training.publication.vllm import VllmTarget

    target = VllmTarget([url])
    try:
        target.wait(seconds, lambda: server is None or server.poll() is None)
    except PublicationError as error:
        print(f"no server, so neither publication nor rollouts: {error}", flush=True)
        return False
    finally:
        target.close()
    return True


def run(name: str, command: list[str], out: Path, env: dict[str, str], until: float, beside: Beside) -> None:
    """One part, to its end or its time's."""
    began = time.monotonic()
    if until - began < 30:
        print(f"{name}: no time left", flush=True)
        return
    with (out / f"{name}.log").open("ab") as log:
        # Parts have processes of their own, with engines on the GPU: all of them end with it.
        part = subprocess.Popen([sys.executable, *command], stdout=log, stderr=log, env=env, start_new_session=True)
        beside.add(part)
        try:
            code: int | str = part.wait(until - began)
        except subprocess.TimeoutExpired:
            code = "out of time"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(part.pid, signal.SIGKILL)
            part.wait()
    with suppress(OSError, ValueError):  # a part that died while it measured
        if int(Path(env[VARIABLE]).read_text()) == part.pid:
            Path(env[VARIABLE]).unlink()
    print(f"{name}: {code} after {time.monotonic() - began:.0f} s", flush=True)


def main() -> None:
    """Start what runs beside, do the parts one by one, wait."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=560.0)
    parser.add_argument("--url", help="a vLLM server that is there or will be")
    parser.add_argument("--port", type=int, default=8011)
    parser.add_argument("--parts", default=",".join(PARTS), help="those to do, in this order in each line")
    parser.add_argument("--seeds", type=int, default=3, help="of Seal-Tools; 0: none")
    parser.add_argument("--seal", default="", help="further arguments of seal_tools.py")
    parser.add_argument(
        "--recipe",
        action="append",
        help="role and arguments of 'train recipe', to run beside, too, into OUT/recipe0; a second one follows it: "
        "'reckoner --parent OUT/recipe0/final --trials 8'",
    )
    parser.add_argument("--rehearse", action="store_true")
    asked = parser.parse_args()
    until = time.monotonic() + asked.seconds
    out: Path = asked.out.expanduser().resolve()
    out.mkdir(parents=True, exist_ok=True)
    parts = [name for name in asked.parts.split(",") if name]
    server, url = None, str(asked.url or f"http://127.0.0.1:{asked.port}/v1")
    if set(parts) & set(PROBING) and not asked.url:
        server, url = serve(out, asked.port, asked.rehearse)
    alone, started = out / "alone", out / "started"
    for file in (alone, started):
        file.unlink(missing_ok=True)
    env = {**os.environ, VARIABLE: str(alone), AFTER: str(started), "POINTWORK_CONFIG": str(configured(out, url))}
    beside = Beside(alone)
    for seed in range(asked.seeds):
        command = [sys.executable, str(HERE / "seal_tools.py"), "--data", str(asked.data), "--seed", str(seed)]
        command += ["--folder", str(out / "seal"), "--json", str(out / f"seal{seed}.json")]
        command += ["--seconds", str(asked.seconds - 45), *asked.seal.split()]
        beside.start([command + (["--rehearse"] if asked.rehearse else [])], out / f"seal{seed}.log")
    if asked.recipe:
        recipe = [sys.executable, "-m", "pointwork", "train", "recipe", "--json", "--out"]
        found = [
            [*recipe, str(out / f"recipe{place}"), *text.replace("OUT", str(out)).split()]
            for place, text in enumerate(asked.recipe)
        ]
        beside.start(found, out / "recipe.log")

    def served() -> None:
        """What uses the server, once it answers; without one it is left out, and the rest is still done."""
        mine = [name for name in parts if name in PROBING]
        there = bool(mine) and answers(url, server, min(STARTS, asked.seconds / 2))
        started.touch()
        for name in mine if there else ():
            run(name, commands(asked, out, url, until - time.monotonic())[name], out, env, until, beside)

    try:
        line = threading.Thread(target=served, daemon=True)
        line.start()
        for name in parts:
            if name not in PROBING:
                run(name, commands(asked, out, url, until - time.monotonic())[name], out, env, until, beside)
        line.join(max(0.0, until - time.monotonic()) + 5)  # its part is ended by then
        beside.wait(until - 15)
    finally:
        beside.end()
        if server is not None:
            server.terminate()


if __name__ == "__main__":
    main()

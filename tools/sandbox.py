"""Running code that nobody trusts: in a process of its own, without network, files, time or memory to do harm.

What keeps it in is the Linux kernel (``sandbox_launcher.py``: namespaces, limits, a filter on system calls), not
the language. Where the kernel lacks one of the means, or on another system, ``run_python`` refuses.
"""

import contextlib
import json
import os
import re
import secrets
import selectors
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, Literal, cast

import psutil

from pointwork.errors import ToolDenied, UsageError

LAUNCHER = Path(__file__).with_name("sandbox_launcher.py")
FAILED = 97
_MB = 2**20
_MAIN = "main.py"
_LONGEST_NAME, _DEEPEST, _MOST_FILES = 255, 20, 1_000

_HELD = re.compile(rb"^Vm(?:RSS|Swap):\s*(\d+) kB", re.MULTILINE)

Ended = Literal["ok", "error", "timeout", "memory", "output"]


@dataclass(frozen=True)
class Limits:
    """What a program may take.

    Attributes:
        seconds: of wall time.
        cpu_seconds: of processor time, each process.
        memory_mb: of all its processes together, and of each one's addresses.
        disk_mb: of files, which are in memory.
        output_bytes: of what it prints, both streams together.
        processes: at once.
    """

    seconds: float = 10.0
    cpu_seconds: int = 10
    memory_mb: int = 512
    disk_mb: int = 64
    output_bytes: int = 200_000
    processes: int = 16


@dataclass(frozen=True)
class Ran:
    """What became of a program.

    Attributes:
        ended: ``ok`` (exit code 0), ``error``, or the limit that ended it.
        code: exit code; 128 + n when signal n ended it.
        stdout, stderr: what it printed, up to the limit.
        seconds: of wall time.
        why: in words, where a limit ended it.
    """

    ended: Ended
    code: int
    stdout: str
    stderr: str
    seconds: float
    why: str = ""


def run_python(code: str, *, files: Mapping[str, str] | None = None, limits: Limits | None = None) -> Ran:
    """Run a Python program (standard library only) in the sandbox.

    Args:
        code: the program; its folder ``/room`` may be written, and is gone afterwards.
        files: texts by name, put into that folder.
        limits: what it may take.

    Raises:
        ToolDenied: this system lacks a means of the sandbox.
        UsageError: a file's name leads out of the folder, or is that of another; there is no room for all of them.
    """
    limits = limits or Limits()
    given = _given(code, files or {}, limits)
    if sys.platform != "linux":
        raise ToolDenied(f"the sandbox needs Linux (namespaces, seccomp); this is {sys.platform}")
    if os.uname().machine not in ("x86_64", "aarch64"):
        raise ToolDenied(f"the sandbox knows no system calls of {os.uname().machine}")
    return _run(_job(given, limits), limits)


def _given(code: str, files: Mapping[str, str], limits: Limits) -> dict[str, str]:
    """The texts that are put into the room, by their places."""
    given = {_MAIN: code}
    for name, text in ((_MAIN, code), *files.items()):
        if not isinstance(cast(object, text), str):
            raise UsageError(f"{name} is a text, not {type(text).__name__}")
    for name, text in files.items():
        place = PurePosixPath(name)
        if place.is_absolute() or ".." in place.parts or "\0" in name or not place.parts:
            raise UsageError(f"a file of the sandbox is named relative to its folder, not {name!r}")
        if any(len(os.fsencode(part)) > _LONGEST_NAME for part in place.parts) or len(place.parts) > _DEEPEST:
            raise UsageError(f"a file of the sandbox has a name that is too long: {name[:100]!r}…")
        if str(place) in given:
            raise UsageError(f"two files of the sandbox would be {place} ({_MAIN} is the program itself)")
        given[str(place)] = text
    for name in given:
        if folder := next((str(above) for above in PurePosixPath(name).parents if str(above) in given), ""):
            raise UsageError(f"{folder} can not be a file of the sandbox and the folder of {name}")
    if len(given) > _MOST_FILES:
        raise UsageError(f"{len(given)} files for the sandbox: at most {_MOST_FILES}")
    # letters that are none (half an emoji) cost these letters
    given = {name: text.encode("utf-8", "replace").decode() for name, text in given.items()}
    size = sum(len(text.encode()) for text in given.values())
    if size > limits.disk_mb * _MB // 2:
        raise UsageError(
            f"the files for the sandbox have {size // _MB} MB, more than half of its {limits.disk_mb} MB (disk_mb)"
        )
    return given


def _job(files: Mapping[str, str], limits: Limits) -> dict[str, Any]:
    binds, argv, env = _python()
    return {
        "files": dict(files),
        "binds": binds,
        "argv": [*argv, f"/room/{_MAIN}"],
        "mark": f"room {secrets.token_hex(16)}: ",
        "parent": os.getpid(),
        "env": env,
        "memory": limits.memory_mb * _MB,
        "disk": limits.disk_mb * _MB,
        "cpu": limits.cpu_seconds,
        "processes": limits.processes,
        # a user id of its own, so that nobody else's processes count against its limit
        "uid": 200_000 + secrets.randbelow(1_000_000),
    }


@cache
def _python() -> tuple[list[tuple[str, str]], list[str], dict[str, str]]:
    """What of the host is shown, the command, and its environment."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    prefix = sys.base_prefix
    # not the whole prefix: where it is /usr or /usr/local, people keep what is theirs below it (/usr/src/app)
    shown = [(f"{prefix}/{part}", f"/python/{part}") for part in (f"bin/{version}", "lib", "lib64")]
    shown += [("/usr/lib", "/usr/lib"), ("/usr/lib64", "/usr/lib64"), ("/lib64", "/lib64")]
    shown += [("/lib", "/lib"), ("/etc/ld.so.cache", "/etc/ld.so.cache")]
    shown += [(f"/dev/{name}", f"/dev/{name}") for name in ("null", "urandom")]
    # where /lib is a link into /usr, the launcher makes the same link
    binds = [(s, t) for s, t in shown if os.path.exists(s) and not (s in ("/lib", "/lib64") and os.path.islink(s))]
    library = sysconfig.get_config_var("LIBDIR") or ""
    environment = {"PATH": "/python/bin", "HOME": "/room", "LANG": "C.UTF-8", "PYTHONHOME": "/python"}
    if library.startswith(prefix):
        environment["LD_LIBRARY_PATH"] = "/python" + library[len(prefix) :]
    return binds, [f"/python/bin/{version}", "-I", "-S", "-B", "-u", "-X", "utf8"], environment


def _run(job: dict[str, Any], limits: Limits) -> Ran:
    with tempfile.TemporaryDirectory(prefix="pointwork-room-") as room:
        os.chmod(room, 0o755)  # noqa: S103 - an empty folder, to be mounted over
        return _in_room({**job, "room": room}, limits)


def _in_room(job: dict[str, Any], limits: Limits) -> Ran:
    started = time.monotonic()
    launcher = subprocess.Popen(  # noqa: S603 - our own launcher, by this very interpreter
        [sys.executable, "-I", "-S", "-B", str(LAUNCHER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PATH": os.defpath, "LANG": "C.UTF-8"},
        start_new_session=True,
        cwd="/",
    )
    try:
        assert launcher.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            launcher.stdin.write(json.dumps(job).encode() + b"\n")
            launcher.stdin.close()
        out, err, ended, why = _watched(launcher, limits, started)
    finally:
        _end(launcher)
    stdout, stderr = (text.decode("utf-8", "replace") for text in (out, err))
    code = launcher.returncode
    if not ended:
        if code == FAILED and stderr.startswith(mark := job["mark"]):
            said = stderr.removeprefix(mark).strip()
            raise ToolDenied(
                f"the sandbox can not be made on this system: {said}. It needs root, or user "
                "namespaces for everybody (sysctl kernel.unprivileged_userns_clone, user.max_user_namespaces)"
            )
        ended = "ok" if code == 0 else "error"
        if code == 128 + signal.SIGXCPU or (code == 128 + signal.SIGKILL and _busy(started, limits)):
            ended, why = "timeout", f"it used more than {limits.cpu_seconds} s of processor time"
        elif code != 0 and "MemoryError" in stderr[-500:]:
            ended, why = "memory", f"it asked for more than {limits.memory_mb} MB of memory"
    return Ran(ended, code, stdout, stderr, round(time.monotonic() - started, 3), why)


def _busy(started: float, limits: Limits) -> bool:
    return time.monotonic() - started >= limits.cpu_seconds


def _watched(launcher: "subprocess.Popen[bytes]", limits: Limits, started: float) -> tuple[bytes, bytes, Any, str]:
    """Read what it prints, and end it when it takes more than it may."""
    taken = {"out": bytearray(), "err": bytearray()}
    assert launcher.stdout is not None
    assert launcher.stderr is not None
    ended, why = "", ""
    next_look = 0.0
    with selectors.DefaultSelector() as selector:
        selector.register(launcher.stdout, selectors.EVENT_READ, "out")
        selector.register(launcher.stderr, selectors.EVENT_READ, "err")
        while selector.get_map() and not ended:
            for key, _ in selector.select(0.02):
                chunk = os.read(key.fd, 65_536)
                if not chunk:
                    selector.unregister(key.fileobj)
                taken[key.data] += chunk
            now = time.monotonic()
            if sum(map(len, taken.values())) > limits.output_bytes:
                ended, why = "output", f"it printed more than {limits.output_bytes:,} bytes"
            elif now - started > limits.seconds:
                ended, why = "timeout", f"it did not end within {limits.seconds:g} s"
            elif now > next_look:
                next_look = now + 0.05
                held = _held(launcher.pid) // _MB
                if held > limits.memory_mb:
                    ended, why = "memory", f"its processes held {held} MB of memory together"
    most = limits.output_bytes
    return bytes(taken["out"][:most]), bytes(taken["err"][:most]), ended, why


def _held(pid: int) -> int:
    """Bytes that the processes below one hold, those that were put into the swap too."""
    total = 0
    with contextlib.suppress(psutil.Error):
        for process in psutil.Process(pid).children(recursive=True):
            with contextlib.suppress(OSError):
                status = Path(f"/proc/{process.pid}/status").read_bytes()
                total += sum(1024 * int(size) for size in _HELD.findall(status))
    return total


def _end(launcher: "subprocess.Popen[bytes]") -> None:
    """End all of it: when the first process of the room ends, the kernel ends the others."""
    if launcher.poll() is None:
        with contextlib.suppress(psutil.Error):
            for process in psutil.Process(launcher.pid).children():
                process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            launcher.wait(1)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(launcher.pid, signal.SIGKILL)
    launcher.wait()
    for stream in (launcher.stdout, launcher.stderr):
        if stream is not None:
            stream.close()


@cache
def missing_means() -> str:
    """What this system lacks for the sandbox, in words; empty if it works."""
    try:
        ran = run_python("print(6 * 7)", limits=Limits(seconds=20))
    except ToolDenied as error:
        return str(error)
    return "" if ran.stdout == "42\n" else f"a program that prints 42 printed {ran.stdout!r}: {ran.stderr[-300:]}"

"""Attempts to get out of the sandbox, and to harm the host from inside: each is contained."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from pointwork.errors import ToolDenied, UsageError
from pointwork.tools import sandbox
from pointwork.tools.sandbox import Limits, Ran, missing_means, run_python

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or bool(missing_means()), reason=f"no sandbox here: {missing_means()}"
)

SMALL = Limits(seconds=8, cpu_seconds=4, memory_mb=128, disk_mb=8, output_bytes=50_000, processes=8)


def ran(code: str, limits: Limits = SMALL) -> Ran:
    return run_python(code, limits=limits)


def fails(code: str, *says: str) -> None:
    """The code ends with an error that says so, and prints nothing."""
    result = ran(code)
    assert result.ended == "error"
    assert result.stdout == ""
    assert any(each in result.stderr for each in says), result.stderr


def test_honest_code_works() -> None:
    code = "import json, math, sqlite3, decimal; print(json.dumps([math.sqrt(16), open('a.txt').read()]))"
    result = run_python(code, files={"a.txt": "hello"})
    assert (result.ended, result.stdout) == ("ok", '[4.0, "hello"]\n')
    assert ran("import sys; print('x', file=sys.stderr); sys.exit(3)").code == 3
    assert ran("open('/room/b', 'w').write('1'); print(open('b').read())").stdout == "1\n"
    assert ran("import asyncio; asyncio.run(asyncio.sleep(0)); print('ok')").stdout == "ok\n"


@pytest.mark.parametrize(
    "code",
    [
        "import socket; socket.create_connection(('127.0.0.1', {port}), 2)",
        "import socket; socket.create_connection(('1.1.1.1', 53), 2)",
        "import socket; socket.socket(socket.AF_UNIX).connect('/run/dbus/system_bus_socket')",
        "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
        "import urllib.request; urllib.request.urlopen('http://127.0.0.1:{port}', timeout=2)",
    ],
)
def test_there_is_no_network(code: str) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        fails(code.replace("{port}", str(server.getsockname()[1])), "PermissionError", "Errno 1")
        with pytest.raises(TimeoutError):
            server.accept()


def test_files_of_the_host_are_not_there(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s3cret")
    for path in (str(secret), "/etc/passwd", "/etc/shadow", os.path.expanduser("~"), str(Path(__file__).parent)):
        assert ran(f"import os; print(os.path.exists({path!r}))").stdout == "False\n"
    fails(f"open({str(secret)!r})", "FileNotFoundError")
    fails("open('../../../../../../etc/passwd')", "FileNotFoundError")


def test_the_room_can_not_be_written_but_for_its_folder() -> None:
    for path in ("/x", "/python/x", "/usr/lib/x", "/python/lib/python3.11/os.py", "/etc/x"):
        fails(f"open({path!r}, 'w')", "Read-only", "PermissionError", "FileNotFoundError")
    assert not list(Path(sys.base_prefix).glob("x"))


def test_links_lead_nowhere(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s3cret")
    for make in ("symlink", "link"):
        fails(f"import os; os.{make}({str(secret)!r}, 'l'); open('l').read()", "FileNotFoundError")
    fails("import os; os.symlink('/proc/1/root/etc/passwd', 'l'); open('l').read()", "FileNotFoundError")
    fails("import os; os.mknod('disk', 0o60666, os.makedev(8, 0)); open('disk')", "PermissionError")


def test_there_is_no_proc_and_none_can_be_had() -> None:
    fails("open('/proc/1/environ')", "FileNotFoundError")
    fails("import os; os.listdir('/proc')", "FileNotFoundError")
    mount = "import ctypes,os; c=ctypes.CDLL(None,use_errno=True); r=c.mount(b'p',b'/room',b'proc',0,None);"
    assert ran(mount + "print(r, ctypes.get_errno())").stdout == "-1 1\n"


def test_the_environment_has_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "s3cret")
    result = ran("import os; print(os.environ)")
    assert "s3cret" not in result.stdout
    assert "API" not in result.stdout


def test_other_processes_can_not_be_signalled_or_seen() -> None:
    victim = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        code = f"""
import os, signal
for pid in [{victim.pid}, {os.getpid()}]:
    try: os.kill(pid, signal.SIGKILL); print('killed')
    except ProcessLookupError: print('none')
try: os.kill(-1, signal.SIGKILL)
except OSError: pass
print(os.getppid())
"""
        assert ran(code).stdout == "none\nnone\n1\n"
        assert victim.poll() is None
    finally:
        victim.kill()
        victim.wait()


def test_a_fork_bomb_ends_with_its_room() -> None:
    before = len(psutil.pids())
    result = ran("import os\nwhile True:\n    try: os.fork()\n    except OSError: pass")
    assert result.ended in ("timeout", "memory")
    assert _settles(before)


def test_a_fork_bomb_of_sleepers_is_ended_too() -> None:
    code = "import os,time\nfor _ in range(50):\n  try:\n    if os.fork()==0: os.setsid(); time.sleep(600)\n"
    before = len(psutil.pids())
    ran(code + "  except OSError: pass\nprint('done')")
    assert _settles(before)


def _settles(before: int) -> bool:
    for _ in range(200):
        if len(psutil.pids()) <= before + 8:
            return True
        time.sleep(0.05)
    return False


def test_memory_is_bounded_for_one_process_and_for_all() -> None:
    assert ran("x = bytearray(10**9); print(len(x))").ended == "memory"
    many = """
import os, time
for _ in range(6):
    if os.fork() == 0:
        x = bytearray(60_000_000)
        for i in range(0, len(x), 4096): x[i] = 1
        time.sleep(20)
time.sleep(20)
"""
    assert ran(many).ended == "memory"
    assert ran("x = []\nwhile True: x.append(' ' * 10**6)").ended == "memory"


def test_memory_that_no_process_seems_to_hold_is_not_to_be_had() -> None:
    """It would count against nobody's limit, and the machine would be out of it."""
    fails("import os\nx = [os.memfd_create('x') for _ in range(20)]", "PermissionError")
    share = "import ctypes; c = ctypes.CDLL(None)\nprint(sum(c.shmget(0, 10**7, 0o1600) >= 0 for _ in range(10)))"
    assert ran(share).stdout == "0\n"


def test_shared_pages_are_not_to_be_had() -> None:
    """All but one of them unmapped, they stay, and no process is known to hold them."""
    fails("import mmap; mmap.mmap(-1, 10**7)", "PermissionError")
    fails("import mmap; mmap.mmap(-1, 4096, flags=0x23)", "PermissionError", "Errno 1")
    fails("import mmap; mmap.mmap(open('/dev/zero', 'r+b').fileno(), 10**7)", "FileNotFoundError")
    honest = "import mmap; f = open('a', 'w+b'); f.truncate(4096); m = mmap.mmap(f.fileno(), 4096); m[0] = 7"
    assert ran(f"{honest}; print(open('a', 'rb').read(1), len(mmap.mmap(-1, 9, flags=2)))").stdout == "b'\\x07' 9\n"


def test_only_pipes_of_the_room_are_opened() -> None:
    """A socket of another family loads its module into the host's kernel."""
    for family in (2, 10, 16, 17, 30, 38, 40):
        code = f"import ctypes; c=ctypes.CDLL(None,use_errno=True); print(c.socketpair({family}, 2, 0, (c_int := "
        code += "ctypes.c_int * 2)()), ctypes.get_errno())"
        assert ran(code).stdout == "-1 1\n"
    own = "import socket; a, b = socket.socketpair(type=socket.SOCK_DGRAM); a.send(b'x'); print(b.recv(1));"
    assert ran(own + "a.connect('\\0/run/dbus')").stdout == "b'x'\n"  # abstract names are the room's own, too
    assert "ConnectionRefused" in ran(own + "a.connect('\\0/run/dbus')").stderr


def test_a_crash_leaves_no_core_with_the_host() -> None:
    """A limit of 0 would not keep it from a program that the host has for cores; it may not be set back to that."""
    assert ran("import resource; print(resource.getrlimit(resource.RLIMIT_CORE))").stdout == "(1, 1)\n"
    fails("import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))", "ValueError", "PermissionError")
    assert ran("import ctypes; ctypes.string_at(0)").code == 128 + 11


def test_files_are_bounded() -> None:
    fails("f = open('big', 'wb')\nwhile True: f.write(bytes(10**6))", "File too large", "No space")
    fails("import os\nfor n in range(10**6): open(f'f{n}', 'w').close()", "No space")
    fails("x = [open('/dev/null') for _ in range(100)]", "Too many open files")


def test_a_flood_of_output_is_cut_and_ends_it() -> None:
    before = psutil.Process().memory_info().rss
    result = ran("import sys\nfor _ in range(1000): sys.stdout.write('x' * 10**6)")
    assert (result.ended, len(result.stdout)) == ("output", SMALL.output_bytes)
    assert psutil.Process().memory_info().rss - before < 50_000_000
    assert ran("import sys\nwhile True: sys.stderr.write('x' * 10**6)").ended == "output"
    both = "import os\nos.fork()\nos.fork()\nwhile True: os.write(1, b'x' * 10**5); os.write(2, b'y' * 10**5)"
    result = ran(both)
    assert result.ended == "output"
    assert len(result.stdout) + len(result.stderr) <= 2 * SMALL.output_bytes


def test_time_is_bounded() -> None:
    assert ran("import time; time.sleep(60)", Limits(seconds=0.5)).ended == "timeout"
    assert ran("while True: pass", Limits(seconds=20, cpu_seconds=1)).ended == "timeout"
    stubborn = "import signal, time\nfor s in range(1, 32):\n  try: signal.signal(s, signal.SIG_IGN)\n"
    stubborn += "  except OSError: pass\n"
    assert ran(stubborn + "time.sleep(60)", Limits(seconds=0.5)).ended == "timeout"
    for in_c in ("pow(3, 10**9)", "import re; re.match(r'(a+)+$', 'a' * 40 + 'b')"):
        assert ran(in_c, Limits(seconds=0.5)).ended == "timeout"


@pytest.mark.parametrize(
    ("name", "number", "arguments"),
    [
        ("unshare", 272, "0x10000000"),
        ("clone with a user namespace", 56, "0x10000011, 0, 0, 0, 0"),
        ("clone3", 435, "0, 0"),
        ("ptrace", 101, "0, 0, 0, 0"),
        ("bpf", 321, "0, 0, 0"),
        ("keyctl", 250, "0, 0, 0"),
        ("io_uring_setup", 425, "1, 0"),
        ("userfaultfd", 323, "0"),
        ("setns", 308, "0, 0"),
        ("open_by_handle_at", 304, "0, 0, 0"),
        ("pivot_root", 155, "0, 0"),
        ("perf_event_open", 298, "0, 0, -1, -1, 0"),
        ("memfd_create", 319, "b'x', 0"),
        ("shmget", 29, "0, 10_000_000, 0o1600"),
        ("semget", 64, "0, 1, 0o1600"),
        ("msgget", 68, "0, 0o1600"),
        ("vmsplice", 278, "1, 0, 0, 0"),
        ("io_setup", 206, "8, 0"),
        ("seccomp", 317, "3, 0, 0"),
        ("landlock_create_ruleset", 444, "0, 0, 0"),
        ("pidfd_getfd", 438, "0, 0, 0"),
        ("statmount", 457, "0, 0, 0, 0"),
        ("modify_ldt", 154, "0, 0, 0"),
        ("setrlimit", 160, "4, 0"),
        ("prlimit64 that sets", 302, "0, 4, c.malloc(16), 0"),
    ],
)
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="numbers of x86_64")
def test_dangerous_system_calls_are_refused(name: str, number: int, arguments: str) -> None:
    code = "import ctypes; c=ctypes.CDLL(None,use_errno=True); r=c.syscall({}, {}); print(r, ctypes.get_errno())"
    refused = "38" if name == "clone3" else "1"
    assert ran(code.format(number, arguments)).stdout == f"-1 {refused}\n"


def test_nobody_becomes_somebody() -> None:
    for call in ("os.setuid(0)", "os.setgid(0)", "os.chroot('/')", "os.setgroups([0])", "os.nice(-5)"):
        fails(f"import os; {call}", "PermissionError")
    result = ran("import os; print(os.getuid() != 0, os.getgid() != 0)")
    assert result.stdout == "True True\n"


def test_the_host_keeps_its_name_and_limits() -> None:
    import socket

    name = socket.gethostname()
    ran("import socket; socket.sethostname('evil')")
    assert socket.gethostname() == name
    assert ran("import socket; print(socket.gethostname())").stdout == "room\n"
    fails(
        "import resource; resource.setrlimit(resource.RLIMIT_NPROC, (10**6, 10**6))",
        "ValueError",
        "PermissionError",
    )


def test_nothing_is_left_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # tests beside this one have rooms of their own
    ran("open('/room/a', 'w').write('x')")
    ran("import time; time.sleep(60)", Limits(seconds=0.3))
    assert not list(tmp_path.iterdir())
    assert "pointwork-room" not in Path("/proc/self/mounts").read_text()


def test_nothing_runs_on_when_the_process_that_started_it_is_killed() -> None:
    """It is that process that watches the time."""
    program = "import os, time\nif os.fork() == 0: os.setsid()\nprint(1, flush=True)\ntime.sleep(600)"
    code = f"from pointwork.tools.sandbox import *; run_python({program!r}, limits=Limits(seconds=600))"
    started = subprocess.Popen([sys.executable, "-c", code])
    below = _children(started, 4)  # the launcher, the room's first process, the program and its child
    started.kill()
    started.wait()
    gone, alive = psutil.wait_procs(below, timeout=20)
    for process in alive:
        process.kill()
    assert len(gone) >= 4
    assert not alive


def _children(process: "subprocess.Popen[bytes]", least: int) -> list[psutil.Process]:
    found: list[psutil.Process] = []
    for _ in range(600):
        found = psutil.Process(process.pid).children(recursive=True)
        if len(found) >= least:
            break
        time.sleep(0.05)
    return found


def test_a_signal_to_its_own_group_stays_in_the_room() -> None:
    code = (
        "import os, signal\nsignal.signal(15, signal.SIG_IGN)\nos.kill(0, 15)\nprint(os.getpgid(0))\nos.kill(0, 9)"
    )
    result = ran(code)
    assert (result.ended, result.code, result.stdout) == ("error", 137, "1\n")


def test_a_program_can_not_say_that_there_is_no_sandbox() -> None:
    code = f"import os; os.write(2, b'room: give me root\\n'); os._exit({sandbox.FAILED})"
    assert (ran(code).ended, ran(code).code) == ("error", sandbox.FAILED)


def test_what_is_kept_beside_python_is_not_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where Python's prefix is /usr or /usr/local, people keep their work below it."""
    prefix = tmp_path / "usr"
    (prefix / "src" / "app").mkdir(parents=True)
    (prefix / "src" / "app" / "tokens.toml").write_text("s3cret")
    for part in ("bin", "lib"):
        (prefix / part).symlink_to(Path(sys.base_prefix) / part)
    monkeypatch.setattr(sys, "base_prefix", str(prefix))
    sandbox._python.cache_clear()  # pyright: ignore[reportPrivateUsage]
    try:
        assert ran("import os; print(sorted(os.listdir('/python')))").stdout == "['bin', 'lib']\n"
    finally:
        sandbox._python.cache_clear()  # pyright: ignore[reportPrivateUsage]


def test_what_is_mounted_below_what_is_shown_is_not_shown_or_not_to_be_written(tmp_path: Path) -> None:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("needs root, to mount something")
    (tmp_path / "shown" / "data").mkdir(parents=True)
    (tmp_path / "room").mkdir()
    code = "import os; print(os.listdir('/shown/data')); open('/shown/data/x', 'w')"
    job = sandbox._job({"main.py": code}, SMALL)  # pyright: ignore[reportPrivateUsage]
    job["binds"].append([str(tmp_path / "shown"), "/shown"])
    job["room"] = str(tmp_path / "room")
    data = tmp_path / "shown" / "data"
    mounted = f"mount -t tmpfs -o mode=777 none {data} && touch {data}/secret && "
    for root in (True, False):
        launcher = "import runpy, sys; sys.argv[1:] or setattr(__import__('os'), 'geteuid', lambda: 1);"
        launcher += f"runpy.run_path({str(sandbox.LAUNCHER)!r}, run_name='__main__')"
        run = f"exec {sys.executable} -I -S -c {shlex.quote(launcher)} {'root' if root else ''}"
        # the parent that the job names is the process that starts it
        start = "import json, os, subprocess, sys; job = json.loads(sys.argv[1]); job['parent'] = os.getpid();"
        start += "print(subprocess.run(['sh', '-c', sys.argv[2]], input=json.dumps(job), text=True,"
        start += "capture_output=True))"
        inner = shlex.join([sys.executable, "-c", start, json.dumps(job), run])
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", mounted + inner], capture_output=True, text=True, check=True
        )
        assert "Read-only file system" in done.stdout, done.stdout
        assert ("secret" in done.stdout) is (not root)


def test_names_of_files_stay_in_the_folder() -> None:
    for name in ("/etc/x", "../x", "a/../../x", "", ".", "./"):
        with pytest.raises(UsageError, match="relative to its folder"):
            run_python("pass", files={name: "x"})


def test_files_that_can_not_be_there_are_the_callers_error_not_the_systems() -> None:
    for files, says in (
        ({"./main.py": "print('not the program')"}, "is the program itself"),
        ({"a": "1", "a/b": "2"}, "the folder of a/b"),
        ({"x" * 300: "1"}, "too long"),
        ({"/".join("abcdefghijklmnopqrstuvwxyz"): "1"}, "too long"),
        ({"big": "x" * 10**7}, "more than half"),
        ({f"f{n}": "" for n in range(2000)}, "at most 1000"),
    ):
        with pytest.raises(UsageError, match=says):
            run_python("print('ran')", files=files, limits=SMALL)


def test_letters_that_are_none_cost_these_letters() -> None:
    assert ran("print('\ud83d!', open('/room/a').read())").stderr.count("FileNotFoundError")
    result = run_python("print('\ud83d!', open('a').read())", files={"a": "b\udc80"})
    assert result.stdout == "?! b?\n"


def test_where_the_kernel_lacks_something_it_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "launcher.py"
    text = sandbox.LAUNCHER.read_text()
    broken.write_text(
        text.replace(
            "def apart(root: bool) -> None:", "def apart(root):\n    raise OSError(1, 'no namespaces here')\n"
        )
    )
    monkeypatch.setattr(sandbox, "LAUNCHER", broken)
    with pytest.raises(ToolDenied, match=r"can not be made on this system: .*no namespaces here.*user namespaces"):
        run_python("print('should not run')")
    broken.write_text(
        text.replace("def filtered() -> None:", "def filtered():\n    raise OSError(1, 'no seccomp here')\n")
    )
    with pytest.raises(ToolDenied, match="no seccomp here"):
        run_python("print('should not run')")


def test_without_root_it_works_by_user_namespaces_or_refuses() -> None:
    python = shutil.which("python3", path="/usr/bin")
    if os.geteuid() != 0 or shutil.which("setpriv") is None or python is None:
        pytest.skip("needs root, to become somebody else, and a Python that everybody may read")
    code = "import os; print(os.getuid(), os.path.exists('/etc/passwd'), sorted(os.listdir('/room')))"
    job = sandbox._job({"main.py": code}, SMALL)  # pyright: ignore[reportPrivateUsage]
    binds = [["/usr", "/usr"], *(bind for bind in job["binds"] if bind[1].startswith("/dev"))]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "launcher.py").write_text(sandbox.LAUNCHER.read_text())
        (folder / "room").mkdir()
        os.chown(folder / "room", 12345, 12345)
        job |= {
            "room": str(folder / "room"),
            "binds": binds,
            "argv": [python, "-I", "-S", "/room/main.py"],
            "env": {},
            "parent": os.getpid(),
        }
        nobody = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups"]
        done = subprocess.run(
            [*nobody, python, "-I", "-S", str(folder / "launcher.py")],
            input=json.dumps(job) + "\n",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    worked = (done.returncode, done.stdout) == (0, "1000 False ['main.py']\n")
    refused = done.returncode == sandbox.FAILED and done.stderr.startswith(job["mark"]) and not done.stdout
    assert worked or refused, done


def test_only_texts_are_programs_and_files() -> None:
    for wrong in (None, 5, b"1"):
        with pytest.raises(UsageError, match="is a text, not"):
            run_python(wrong)  # pyright: ignore[reportArgumentType]
        with pytest.raises(UsageError, match="a.txt is a text, not"):
            run_python("1", files={"a.txt": wrong})  # pyright: ignore[reportArgumentType]

"""Runs one program in a room of its own. Started by ``sandbox.py`` as ``python -I -S sandbox_launcher.py``, with a
job as JSON on standard input's first line; imports nothing but the standard library.

The room: namespaces of its own for processes, network (none but a loopback that is down), mounts, IPC, host
name and, without root, users; a root file system in memory that holds Python, the system's libraries read-only,
and an empty folder ``/room``; no ``/proc``; nobody's user id; no capabilities, none to be gained; limits on
everything that can be limited; a filter on system calls. What can not be set up is an error, never a weaker room.
"""

import contextlib
import ctypes
import json
import os
import re
import resource
import signal
import struct
import sys
from typing import Any

NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
LOCKED = {"noexec": 8, "noatime": 1024, "nodiratime": 2048, "relatime": 1 << 21}
RDONLY, NOSUID, NODEV, REMOUNT, BIND, REC, PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
DETACH = 2
SHARED, ANONYMOUS, UNIX = 1, 32, 1
SET_NO_NEW_PRIVS, SET_SECCOMP, CAPBSET_DROP, SET_PDEATHSIG = 38, 22, 24, 1

FAILED = 97  # exit code when the room could not be made

# System calls that no program in the room needs, by machine: (name, number).
_DENIED = {
    "x86_64": {
        "ptrace": 101, "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "swapon": 167, "reboot": 169,
        "init_module": 175, "delete_module": 176, "finit_module": 313, "kexec_load": 246, "kexec_file_load": 320,
        "add_key": 248, "request_key": 249, "keyctl": 250, "unshare": 272, "setns": 308, "perf_event_open": 298,
        "open_by_handle_at": 304, "process_vm_readv": 310, "process_vm_writev": 311, "bpf": 321, "userfaultfd": 323,
        "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429,
        "fsopen": 430, "fsconfig": 431, "fsmount": 432, "mount_setattr": 442, "socket": 41,
        "acct": 163, "settimeofday": 164, "clock_settime": 227, "quotactl": 179, "syslog": 103, "iopl": 172,
        "ioperm": 173, "personality": 135, "kcmp": 312, "name_to_handle_at": 303, "modify_ldt": 154,
        "pidfd_getfd": 438, "seccomp": 317, "fspick": 433, "statmount": 457, "listmount": 458,
        # memory that no process seems to hold, and what the whole machine has but little of
        "memfd_create": 319, "memfd_secret": 447, "shmget": 29, "semget": 64, "msgget": 68, "vmsplice": 278,
        "io_setup": 206, "landlock_create_ruleset": 444,
        # a limit on core files that is lowered to 0 hands the core to the host's program for them
        "setrlimit": 160,
    },
    "aarch64": {
        "ptrace": 117, "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51, "swapon": 224, "reboot": 142,
        "init_module": 105, "delete_module": 106, "finit_module": 273, "kexec_load": 104, "add_key": 217,
        "request_key": 218, "keyctl": 219, "unshare": 97, "setns": 268, "perf_event_open": 241,
        "open_by_handle_at": 265, "process_vm_readv": 270, "process_vm_writev": 271, "bpf": 280, "userfaultfd": 282,
        "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429,
        "fsopen": 430, "fsconfig": 431, "fsmount": 432, "mount_setattr": 442, "socket": 198, "kexec_file_load": 294,
        "acct": 89, "settimeofday": 170, "clock_settime": 112, "quotactl": 60, "syslog": 116, "personality": 92,
        "kcmp": 272, "name_to_handle_at": 264, "pidfd_getfd": 438, "seccomp": 277, "fspick": 433,
        "statmount": 457, "listmount": 458,
        "memfd_create": 279, "memfd_secret": 447, "shmget": 194, "semget": 190, "msgget": 186, "vmsplice": 75,
        "io_setup": 0, "landlock_create_ruleset": 444,
        "setrlimit": 164,
    },
}  # fmt: skip
_CLONE = {"x86_64": (56, 435), "aarch64": (220, 435)}  # clone, clone3
_MMAP, _SOCKETPAIR, _PRLIMIT = ({"x86_64": x, "aarch64": a} for x, a in ((9, 222), (53, 199), (302, 261)))
_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

libc = ctypes.CDLL(None, use_errno=True)

Job = dict[str, Any]


def check(done: int, what: str) -> None:
    """Raise if a call of the C library failed."""
    if done != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source: str | None, target: str, kind: str | None, flags: int, data: str = "") -> None:
    given = [None if part is None else os.fsencode(part) for part in (source, target, kind)]
    check(libc.mount(*given, ctypes.c_ulong(flags), os.fsencode(data)), f"mount {target}")


def bind(source: str, target: str, root: bool) -> None:
    """A folder or file of the host, read-only.

    What is mounted below it stays outside. A user namespace can not leave it there: the room shows it read-only.
    """
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w"):
            pass
    mount(source, target, None, BIND if root else BIND | REC)
    flags = BIND | REMOUNT | RDONLY | NOSUID
    # a device file bound with NODEV could not be opened
    mount(None, target, None, flags | (0 if source.startswith("/dev/") else NODEV))
    for below, kept in mounted_below(target):
        mount(None, below, None, flags | NODEV | kept)


def mounted_below(target: str) -> list[tuple[str, int]]:
    """What is mounted below a folder, and the flags of it that only its owner may take away."""
    found: list[tuple[str, int]] = []
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            place, options = line.split(" ")[4:6]
            place = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), place)
            if place.startswith(target + "/"):
                found.append((place, sum(LOCKED.get(option, 0) for option in options.split(","))))
    return found


def apart(root: bool) -> None:
    """Leave the host's namespaces; without root, by way of a user namespace."""
    flags = NEWNS | NEWPID | NEWNET | NEWIPC | NEWUTS
    if root:
        check(libc.unshare(flags), "unshare (namespaces)")
        return
    uid, gid = os.getuid(), os.getgid()
    check(libc.unshare(flags | NEWUSER), "unshare (user namespace)")
    for name, line in (("setgroups", "deny"), ("uid_map", f"1000 {uid} 1"), ("gid_map", f"1000 {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(line)


def furnish(job: Job, root: bool) -> None:
    """Make the room's file system and go in."""
    mount(None, "/", None, REC | PRIVATE)
    new = job["room"]
    mount("tmpfs", new, "tmpfs", NOSUID | NODEV, f"size={job['disk']},nr_inodes=2000,mode=755")
    for source, target in job["binds"]:
        bind(source, new + target, root)
    for folder in ("/room", "/tmp", "/old"):  # noqa: S108
        os.makedirs(new + folder, exist_ok=True)
        os.chmod(new + folder, 0o777)  # noqa: S103 - in the room there is nobody else
    for name, text in job["files"].items():
        path = os.path.join(new, "room", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o644)
    for name, target in (("lib64", "usr/lib64"), ("lib", "usr/lib"), ("bin", "usr/bin")):
        if not os.path.lexists(f"{new}/{name}") and os.path.exists(f"{new}/{target}"):
            os.symlink(target, f"{new}/{name}")
    numbers = {"x86_64": 155, "aarch64": 41}
    check(libc.syscall(numbers[os.uname().machine], os.fsencode(new), os.fsencode(new + "/old")), "pivot_root")
    os.chdir("/")
    check(libc.umount2(b"/old", DETACH), "umount of the host's root")
    os.rmdir("/old")
    check(libc.sethostname(b"room", 4), "sethostname")
    os.chdir("/room")


def bound(job: Job) -> None:
    """Limits of each process."""
    for kind, most in (
        (resource.RLIMIT_AS, job["memory"]),
        (resource.RLIMIT_CPU, job["cpu"]),
        (resource.RLIMIT_FSIZE, job["disk"]),
        (resource.RLIMIT_NOFILE, 64),
        (resource.RLIMIT_NPROC, job["processes"]),
        # 0 would still hand a core to a program of the host's, as root, where it has one for them; 1 does not
        (resource.RLIMIT_CORE, 1),
        (resource.RLIMIT_SIGPENDING, 256),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_STACK, 16_000_000),
    ):
        resource.setrlimit(kind, (most, most))


def humble(root: bool, uid: int) -> None:
    """Become nobody, for good."""
    for capability in range(64):
        if libc.prctl(CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break
    if root:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    # version 3 of the capability structures: an empty set
    header, empty = struct.pack("Ii", 0x20080522, 0), bytes(24)
    check(libc.capset(header, empty), "capset")
    check(libc.prctl(SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")


def filtered() -> None:
    """Refuse the system calls that nobody needs here; another instruction set's are fatal."""
    machine = os.uname().machine
    denied = [*_DENIED[machine].values()]
    clone, clone3 = _CLONE[machine]
    code: list[bytes] = []

    def add(op: int, jt: int, jf: int, k: int) -> None:
        code.append(struct.pack("HBBI", op, jt, jf, k))

    load, equal, greater, test, both, end = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
    number_at, first, third, third_high, fourth = 0, 16, 32, 36, 40  # where the call's number and arguments are
    kill, refuse, none, allow = 0x80000000, 0x00050001, 0x00050026, 0x7FFF0000
    add(load, 0, 0, 4)
    add(equal, 1, 0, _ARCH[machine])
    add(end, 0, 0, kill)
    add(load, 0, 0, number_at)
    if machine == "x86_64":  # the x32 calls
        add(greater, 0, 1, 0x40000000)
        add(end, 0, 0, kill)
    for number in denied:
        add(equal, 0, 1, number)
        add(end, 0, 0, refuse)
    add(equal, 0, 1, clone3)  # its flags are behind a pointer: the C library falls back to clone
    add(end, 0, 0, none)
    add(equal, 0, 4, clone)
    add(load, 0, 0, first)
    add(test, 0, 1, NEWUSER | NEWNS | NEWPID | NEWNET)
    add(end, 0, 0, refuse)
    add(end, 0, 0, allow)
    # pages that are shared and of no file: of all but one that are unmapped again no process is known to hold any
    add(equal, 0, 5, _MMAP[machine])
    add(load, 0, 0, fourth)
    add(both, 0, 0, SHARED | ANONYMOUS)
    add(equal, 0, 1, SHARED | ANONYMOUS)
    add(end, 0, 0, refuse)
    add(end, 0, 0, allow)
    add(equal, 0, 4, _SOCKETPAIR[machine])  # other families load modules into the host's kernel
    add(load, 0, 0, first)
    add(equal, 1, 0, UNIX)
    add(end, 0, 0, refuse)
    add(end, 0, 0, allow)
    add(equal, 0, 5, _PRLIMIT[machine])  # a limit may be looked at, not set
    add(load, 0, 0, third)
    add(equal, 0, 2, 0)
    add(load, 0, 0, third_high)
    add(equal, 1, 0, 0)
    add(end, 0, 0, refuse)
    add(end, 0, 0, allow)
    program = b"".join(code)
    buffer = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("HxxxxxxP", len(code), ctypes.addressof(buffer))
    check(libc.prctl(SET_SECCOMP, 2, described, 0, 0), "seccomp")


def inside(job: Job, root: bool, alive: int) -> None:
    """In the room, as its first process: furnish it, then become the program.

    Args:
        alive: a pipe that ends with the launcher.
    """
    os.setsid()  # a signal to the group of the program does not reach the launcher
    furnish(job, root)
    bound(job)
    humble(root, job["uid"])
    # who becomes somebody else loses this, so not before; the launcher may have ended by now
    check(libc.prctl(SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "pdeathsig")
    os.set_blocking(alive, False)
    with contextlib.suppress(BlockingIOError):
        if not os.read(alive, 1):
            os._exit(FAILED)
    os.close(alive)
    filtered()
    program = os.fork()  # process 1 ignores signals and must reap: the program is process 2
    if program == 0:
        os.execve(job["argv"][0], job["argv"], job["env"])  # noqa: S606
    code = 1
    while True:
        try:
            pid, status = os.wait()
        except ChildProcessError:
            break
        if pid == program:
            code = os.waitstatus_to_exitcode(status)
            break
    os._exit(code if code >= 0 else 128 - code)


def refused(job: Job, error: BaseException) -> None:
    """Say that there is no room. The mark is what the program can not know: it could say the same."""
    os.write(2, f"{job['mark']}{error}\n".encode("utf-8", "replace"))
    os._exit(FAILED)


def main() -> None:
    job: Job = json.loads(sys.stdin.readline())
    # whoever started it watches the time: nothing runs on when that process is killed
    libc.prctl(SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != job["parent"]:
        os._exit(FAILED)
    null = os.open("/dev/null", os.O_RDONLY)
    root = os.geteuid() == 0
    try:
        apart(root)
    except OSError as error:
        refused(job, error)
    alive, _ours = os.pipe()  # this end closes when this process ends
    child = os.fork()
    if child == 0:
        try:
            os.dup2(null, 0)
            os.closerange(3, alive)
            os.closerange(alive + 1, 256)
            inside(job, root, alive)
        except BaseException as error:  # whatever it is, the program does not run outside the room
            refused(job, error)
    os.close(alive)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()

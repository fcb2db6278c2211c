"""The wall around the run's folder: what may be opened, and how, so that nothing outside is ever read.

A path is resolved, must end inside the root, and is then opened component by component without following any
link: what changes between the check and the opening makes the call fail, not leak.
"""

import errno
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pointwork.errors import ToolDenied, ToolError
from pointwork.tools.spec import ToolContext

MAX_BYTES = 20_000_000
"""Largest file that is read as text."""

MAX_FILES = 20_000
"""Most files that are listed or searched."""

SKIPPED_FOLDERS = frozenset(
    {"node_modules", "__pycache__", "venv", "site-packages", "dist", "build", "htmlcov", "bower_components"}
)
"""Folders that are not walked, beside all hidden ones; their files can still be read by name."""

_SECRET_FOLDERS = frozenset({".ssh", ".aws", ".gnupg", ".git", ".kube", ".docker", ".azure", ".password-store"})
_SECRETS = re.compile(
    r"\.env(\..*)?|.*\.env|\.envrc|id_(rsa|dsa|ecdsa|ed25519).*|.*\.(pem|key|p12|pfx|jks|keystore|kdbx|ppk|gpg|asc)"
    r"|[._]netrc|\.pgpass|\.npmrc|\.pypirc|\.htpasswd|\.git-credentials|\.vault-token|credentials(\.json)?"
    r"|secrets?\.(toml|json|ya?ml)|service-account.*\.json"
)
_HARMLESS = (".example", ".sample", ".template", ".dist", ".pub")
_SOURCE = re.compile(r"^(?:file|table):(?P<path>.+?)(?::\d+(?:-\d+)?)?$")


def _skipped(folder: str) -> bool:
    return folder.startswith(".") or folder in SKIPPED_FOLDERS or folder.endswith(".egg-info")


@dataclass(frozen=True)
class Entry:
    """One file below the root.

    Attributes:
        path: relative to the root, with ``/``.
        mtime_ns: when it was last changed.
        size: in bytes.
    """

    path: str
    mtime_ns: int
    size: int


def root_of(context: ToolContext) -> Path:
    """The folder that may be read, resolved.

    Raises:
        ToolError: this run has none, or it is gone.
    """
    if context.root is None:
        raise ToolError("this run has no folder of files: it was started without a root")
    root = Path(os.path.realpath(context.root))
    if not root.is_dir():
        raise ToolError(f"the run's folder {context.root.name!r} does not exist")
    return root


def is_secret(path: PurePosixPath) -> bool:
    """Whether a path names what holds keys and passwords."""
    parts = [part.lower() for part in path.parts]
    if any(part in _SECRET_FOLDERS for part in parts):
        return True
    name = parts[-1] if parts else ""
    return bool(_SECRETS.fullmatch(name)) and not name.endswith(_HARMLESS)


def resolve(root: Path, path: str) -> str | None:
    """The file's real path relative to the root, free of links; None if nothing is there.

    Takes what models write: quotes around it, a source such as ``file:notes.md:3-5``, an absolute path inside.

    Raises:
        ToolDenied: it leads outside the root or to a secret.
        ToolError: it is no path.
    """
    relative = _relative(root, path)
    try:
        real = Path(os.path.realpath(root / relative, strict=True))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        if getattr(error, "errno", None) == errno.ELOOP:
            raise ToolError(f"{path!r} is a link that leads in a circle") from error
        raise ToolError(f"{path[:80]!r} is not a usable path") from error
    if not real.is_relative_to(root):
        raise ToolDenied(f"{path!r} is a link that leads outside the run's folder")
    found = real.relative_to(root)
    for name in (PurePosixPath(relative), PurePosixPath(found.as_posix())):
        if is_secret(name):
            raise ToolDenied(f"{path!r} may hold keys or passwords and is not read")
    return found.as_posix()


def _relative(root: Path, path: str) -> str:
    text = path.strip().strip("'\"`").strip()
    source = _SOURCE.match(text)
    text = (source["path"] if source else text).replace("\\", "/")
    if not text or "\0" in text or len(text) > 1000:
        raise ToolError(f"{path[:80]!r} is not a usable path")
    if ".." in text.split("/"):
        raise ToolDenied(f"{path!r}: '..' is not allowed; write the path from the run's folder on")
    if text.startswith("/"):
        absolute = PurePosixPath(text)
        if not absolute.is_relative_to(root.as_posix()):
            raise ToolDenied(f"{path!r} is outside the run's folder; write the path from there on")
        text = absolute.relative_to(root.as_posix()).as_posix()
    return text


def open_inside(root: Path, relative: str) -> int:
    """A file descriptor for reading a resolved path; the caller closes it.

    Raises:
        ToolDenied: a link appeared on the way.
        ToolError: it is gone, unreadable, or no regular file.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe must not block
    *folders, name = PurePosixPath(relative).parts or (".",)
    at = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in folders:
            inner = os.open(folder, flags | os.O_DIRECTORY, dir_fd=at)
            os.close(at)
            at = inner
        found = os.open(name, flags, dir_fd=at)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise ToolDenied(f"{relative!r} changed into a link while it was opened") from error
        raise ToolError(f"{relative!r} can not be read: {error.strerror}") from error
    finally:
        os.close(at)
    kind = os.fstat(found).st_mode
    if not stat.S_ISREG(kind):
        os.close(found)
        what = "a folder" if stat.S_ISDIR(kind) else "a device or pipe"
        raise ToolError(f"{relative!r} is {what}, not a file")
    return found


def read_bytes(root: Path, relative: str, limit: int = MAX_BYTES) -> bytes:
    """The whole of a resolved file.

    Raises:
        ToolError: it is larger than ``limit`` bytes, or see ``open_inside``.
    """
    with os.fdopen(open_inside(root, relative), "rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise ToolError(f"{relative!r} is larger than {limit / 1e6:g} MB")
    return data


def walk(root: Path) -> Iterator[Entry]:
    """All files that are shown: no links, no hidden or generated folders, no secrets. At most ``MAX_FILES``."""
    count = 0
    for folder, folders, names, descriptor in os.fwalk(root, follow_symlinks=False):
        folders[:] = sorted(f for f in folders if not _skipped(f))
        inside = PurePosixPath(Path(folder).relative_to(root).as_posix())
        for name in sorted(names):
            path = inside / name
            if name.startswith(".") or is_secret(path):
                continue
            try:
                found = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            except OSError:
                continue
            if not stat.S_ISREG(found.st_mode):
                continue
            count += 1
            if count > MAX_FILES:
                return
            yield Entry(path.as_posix(), found.st_mtime_ns, found.st_size)


def find(root: Path, path: str) -> str:
    """The file meant by a path: exactly, or the only one with this name in another case, folder or without suffix.

    Raises:
        ToolError: there is none or there are several; the message names what is near.
        ToolDenied: see ``resolve``.
    """
    exact = resolve(root, path)
    if exact is not None:
        return exact
    wanted = PurePosixPath(_relative(root, path).lower())
    entries = [entry.path for entry in walk(root)]
    for same in (_same_path, _same_name, _same_stem):
        matches = [e for e in entries if same(PurePosixPath(e.lower()), wanted)]
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise ToolError(f"{path!r} may be any of {_listed(matches)}: write the whole path")
    near = _near(wanted.name, entries)
    raise ToolError(
        f"there is no file {path!r}" + (f"; there are {_listed(near)}" if near else "; there are no files")
    )


def _same_path(have: PurePosixPath, wanted: PurePosixPath) -> bool:
    return have == wanted


def _same_name(have: PurePosixPath, wanted: PurePosixPath) -> bool:
    return have.name == wanted.name


def _same_stem(have: PurePosixPath, wanted: PurePosixPath) -> bool:
    return have.stem == wanted.name


def _near(name: str, entries: list[str]) -> list[str]:
    import difflib

    by_name = {PurePosixPath(e).name.lower(): e for e in entries}
    close = difflib.get_close_matches(name, by_name, n=5, cutoff=0.5)
    return [by_name[c] for c in close] or entries[:8]


def _listed(names: list[str]) -> str:
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")

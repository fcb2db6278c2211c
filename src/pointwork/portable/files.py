"""Files of lines: read with the number of each line, written whole or not at all."""

import contextlib
import os
import stat
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from pointwork.errors import UsageError

Source = str | os.PathLike[str] | BinaryIO
Progress = Callable[[int, int | None], None]

_BOM = b"\xef\xbb\xbf"


class Input:
    """A file, or standard input for ``-``, opened to be read by lines.

    Args:
        source: a path, ``-``, or an open binary stream.
        progress: told after each line how many bytes were read, of how many (None: not known).

    Raises:
        UsageError: there is no such file, it is a folder, or it can not be read.
    """

    def __init__(self, source: Source, progress: Progress | None = None) -> None:
        self._progress = progress
        self._read = 0
        self.total: int | None = None
        if isinstance(source, str | os.PathLike):
            path = os.fspath(source)
            self.name = "standard input" if path == "-" else path
            self._stream, self._own = (sys.stdin.buffer, False) if path == "-" else (self._open(), True)
        else:
            self.name, self._stream, self._own = getattr(source, "name", "the input"), source, False

    @property
    def stem(self) -> str:
        """The file's name without folder and ending, as a name for what is in it."""
        return Path(str(self.name)).stem

    def _open(self) -> BinaryIO:
        path = Path(self.name)
        if path.is_dir():
            raise UsageError(f"{path} is a folder; give a file")
        try:
            stream = path.open("rb")
        except FileNotFoundError:
            raise UsageError(f"there is no file {path}") from None
        except (OSError, ValueError) as error:
            raise UsageError(f"can not read {path}: {error}") from None
        status = os.fstat(stream.fileno())
        self.total = status.st_size if stat.S_ISREG(status.st_mode) else None
        return stream

    def __enter__(self) -> "Input":
        return self

    def __exit__(self, *_: object) -> None:
        if self._own:
            self._stream.close()

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Each line that is not blank, with its number (from 1).

        Raises:
            UsageError: nothing is in it, or reading failed.
        """
        found = False
        number = 0
        try:
            for line in self._stream:
                number += 1
                self._advance(len(line))
                content = line.removeprefix(_BOM) if number == 1 else line
                if content.strip():
                    found = True
                    yield number, content
        except OSError as error:
            raise UsageError(f"can not read {self.name}: {error}") from None
        if not found:
            raise UsageError(f"{self.name} is empty: there is nothing to import")

    def whole(self, first: bytes) -> bytes:
        """All the rest, after a first piece that was read already."""
        try:
            rest = self._stream.read()
        except OSError as error:
            raise UsageError(f"can not read {self.name}: {error}") from None
        self._advance(len(rest))
        return first + rest

    def _advance(self, count: int) -> None:
        self._read += count
        if self._progress is not None:
            self._progress(self._read, self.total)


def write_lines(target: str | os.PathLike[str] | BinaryIO, lines: Iterable[bytes]) -> int:
    """Write lines to a file, which appears complete or not at all; how many they were.

    A pipe or a device is written to as it is; an open stream, too.

    Raises:
        UsageError: the file can not be written; nothing of it stays.
    """
    if not isinstance(target, str | os.PathLike):
        return _copy(lines, target)
    path = Path(target)
    try:
        with _replacing(path) as stream:
            return _copy(lines, stream)
    except OSError as error:
        raise UsageError(f"can not write {path}: {error.strerror or error}") from error


def _copy(lines: Iterable[bytes], stream: BinaryIO) -> int:
    count = 0
    for line in lines:
        stream.write(line)
        count += 1
    stream.flush()
    return count


@contextmanager
def _replacing(path: Path) -> Generator[BinaryIO, None, None]:
    """A stream whose content takes the place of the file at the end, if nothing went wrong."""
    path = path.resolve()  # through a link, so that the link stays one
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file in it")
    if path.exists() and not path.is_file():
        with path.open("wb") as stream:
            yield stream
        return
    temporary = path.with_name(f".{path.name[:100]}.{os.getpid()}.part")
    try:
        with temporary.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise

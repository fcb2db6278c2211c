"""Small JSON files of a training folder, each replaced as a whole."""

import json
from pathlib import Path
from typing import Any

from pointwork.errors import TrainingError


def write(folder: Path, name: str, value: Any) -> None:
    """Write a file of a folder, which is made if it is not there.

    Raises:
        TrainingError: the disk refuses.
    """
    part = folder / f"{name}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps(value, indent=1, default=str) + "\n", encoding="utf-8")
        part.replace(folder / name)
    except OSError as error:
        raise TrainingError(f"{folder} can not be written to: {error}; make room or give another folder") from error


def read(folder: Path, name: str) -> Any:
    """What was written, or None."""
    try:
        return json.loads((folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None

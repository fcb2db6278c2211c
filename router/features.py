"""The context of a decision as a vector of length at most 1.

``x = [bias | text | shape | arm state]``, each block scaled so that its norm can not pass its share. A caller's own
features take the place of text and shape.
"""

import math
import re
from typing import SupportsFloat, cast

import numpy as np
import numpy.typing as npt

from pointwork.embedding import Embedder
from pointwork.errors import UsageError

Array = npt.NDArray[np.float64]

# load, EMA latency and EMA success of the arm, remaining share of the budget
STATE = 4
# Largest norm of each block before the whole is scaled to 1.
_BIAS, _TEXT, _SHAPE, _STATE = 1.0, 1.0, 1.0, 0.5

_LONG = math.log1p(8000)
_DIGIT = re.compile(r"\d")
_SUM = re.compile(r"\d ?[-+*/^=%<>] ?\d")
_CHOICE = re.compile(r"^[ \t]{0,8}\(?[A-D][).:]\s", re.M)
_LINE_END = re.compile(r"[{};][ \t]{0,8}$", re.M)


def _word(word: str) -> tuple[str, re.Pattern[str]]:
    """A word, and what finds it standing by itself: by its letters first, for that is quick."""
    return word, re.compile(rf"{word}(?<!\w{word})(?!\w)")


def _words(words: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(_word(word.strip()) for word in words.split(","))


# What makes a text of a kind: any of these patterns, none of which is there without the characters beside it, which
# are looked for first: one pattern of all of them takes five times as long.
_CODE = (
    *((sign, re.compile(sign)) for sign in ("```", "=>", "==")),
    ("def ", re.compile(r"def (?<!\wdef )\w+\(")),
    ("class ", re.compile(r"class (?<!\wclass )\w")),
    ("</", re.compile(r"</\w+>")),
    ("(", re.compile(r"\((?<=\w\()\w*\)")),
    *((sign, _LINE_END) for sign in "{};"),
    *_words("return, SELECT"),
)
_MATHS = (
    ("\\frac", re.compile(r"\\frac")),
    ("percent", re.compile(r"percent(?<!\wpercent)")),
    *_words("sum, average, solve"),
)
_QUANTITY = _words("how many, how much, how long, how far, how old, calculate, compute, count")
_FACT = _words("who, when, where, which, what")
_REASON = _words("why, how, explain, compare, prove, analyze, analyse")
_MAKE = _words("write, summarize, summarise, translate, rewrite, draft, list, generate, create")
# What a pattern that looks at no case takes for an s or an i, beside their capitals.
_ALSO = {ord("ſ"): "s", ord("ı"): "i", ord("İ"): "i"}
# Characters of a text that are looked at, beyond its length.
_LOOK = 20_000
# length, share of digits, any digit, the kinds, a question mark
SHAPE = 3 + 7 + 1
SHAPE_VERSION = "shape1"


def shape_of(text: str) -> Array:
    """Length, digits, code and question-type flags of a text: shape (SHAPE,), each in [0, 1]."""
    whole, text = len(text), text[:_LOOK]
    size = len(text)
    digits = len(_DIGIT.findall(text))
    lower = (text if text.isascii() else text.translate(_ALSO)).lower()
    kinds = (
        _any(_CODE, text),
        (digits > 1 and _SUM.search(text) is not None) or _any(_MATHS, lower),
        _any(_QUANTITY, lower),
        _any(_FACT, lower),
        _any(_REASON, lower),
        _any(_MAKE, lower),
        _CHOICE.search(text) is not None,
    )
    length = min(1.0, math.log1p(whole) / _LONG)
    asks = 1.0 if "?" in text else 0.0
    return np.array([length, digits / size if size else 0.0, min(1.0, float(digits)), *kinds, asks])


def _any(parts: tuple[tuple[str, re.Pattern[str]], ...], text: str) -> bool:
    return any(sign in text and pattern.search(text) for sign, pattern in parts)


class Features:
    """Builds contexts of one fixed length.

    Args:
        embedder: for the text block, or None when callers bring their own features.
        given: number of features that callers bring, if ``embedder`` is None.

    Attributes:
        dims: length of a context.
        version: changes whenever the same input would get another vector.
    """

    def __init__(self, embedder: Embedder | None, given: int = 0) -> None:
        self.embedder = embedder
        self.given = given
        inner = given if embedder is None else embedder.dims + SHAPE
        self.inner = inner
        self.dims = 1 + inner + STATE
        self.version = f"given{given}-1" if embedder is None else f"{embedder.version}+{SHAPE_VERSION}"
        parts = _BIAS**2 + _TEXT**2 + _STATE**2 + (0.0 if embedder is None else _SHAPE**2)
        self._unit = 1.0 / math.sqrt(parts)
        self.bias = _BIAS * self._unit
        self.state_scale = _STATE * self._unit / math.sqrt(STATE)
        self._shape = _SHAPE * self._unit / math.sqrt(SHAPE)

    def of_text(self, text: str) -> Array:
        """The inner block of a text: shape (inner,)."""
        assert self.embedder is not None
        inner = np.empty(self.inner)
        inner[: self.embedder.dims] = self.embedder.embed([text[:_LOOK]])[0]
        inner[: self.embedder.dims] *= _TEXT * self._unit
        inner[self.embedder.dims :] = shape_of(text) * self._shape
        return inner

    def of_values(self, values: Array) -> Array:
        """The inner block of a caller's features, which ``as_features`` has checked: shape (inner,), shortened to
        unit length where longer.

        Raises:
            UsageError: another length than before.
        """
        if values.shape != (self.inner,):
            raise UsageError(f"this router learns from {self.inner} features, but {values.shape[0]} were given")
        return values * (_TEXT * self._unit / max(1.0, math.sqrt(values.dot(values))))

    def contexts(self, inner: Array, state: Array) -> Array:
        """Contexts of shape (n, dims), one per arm.

        Args:
            inner: the block all arms share, from ``of_text`` or ``of_values``.
            state: shape (n, STATE), each in [0, 1].
        """
        contexts = np.empty((len(state), self.dims))
        contexts[:, 0] = self.bias
        contexts[:, 1:-STATE] = inner
        np.multiply(state, self.state_scale, out=contexts[:, -STATE:])
        return contexts


def as_features(features: npt.ArrayLike) -> Array:
    """A caller's features as an array of one dimension.

    Raises:
        UsageError: not numbers, not one dimension, or a value that is not finite.
    """
    try:
        values = np.asarray(features, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"features must be numbers: {error}") from error
    if values.ndim != 1 or values.size == 0:
        raise UsageError(f"features must be an array of one dimension, not of shape {values.shape}")
    with np.errstate(over="ignore"):
        square = float(values.dot(values))
    if not math.isfinite(square):
        if not np.isfinite(values).all():
            raise UsageError("features must be finite: there is a NaN or an infinity among them")
        values = values / np.abs(values).max()  # so long that its length is no float; the direction is what counts
    return values


def share(remaining: float | None) -> float:
    """A share of the budget as a number; None: all of it.

    Raises:
        UsageError: outside 0 to 1.
    """
    if remaining is None:
        return 1.0
    if not isinstance(cast(object, remaining), SupportsFloat) or not 0.0 <= float(remaining) <= 1.0:
        raise UsageError(f"remaining is a share between 0 and 1, not {remaining!r}")
    return float(remaining)

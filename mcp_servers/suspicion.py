"""Descriptions of tools that speak to the model instead of describing a tool.

This is a warning for people, not a wall: whatever a description says, the policy decides what its tool may do.
"""

import re
import unicodedata

_SIGNS: tuple[tuple[str, str], ...] = (
    (
        r"\b(ignore|disregard|forget)\b.{0,40}\b(previous|prior|above|all|other|earlier|instructions?)\b",
        "tells to ignore instructions",
    ),
    (r"<\s*/?\s*(important|system|secret|instructions?|admin)\b", "has tags that look like the system's"),
    (
        r"\b(do not|don'?t|never|without)\b.{0,30}\b(tell|inform|mention|notify|show|reveal|telling|asking)\b"
        r".{0,30}\b(user|human|person|anyone)\b",
        "asks to hide something from the user",
    ),
    (
        r"\b(before|instead of|prior to) (using|calling|invoking|you use|you call)\b"
        r".{0,60}\b(any|other|this|all|every)\b",
        "gives orders about other tools",
    ),
    (
        r"\b(you must|you should|always|make sure to|be sure to)\b"
        r".{0,80}\b(read|send|pass|include|forward|upload|post|append|call|use|copy|bcc)\b",
        "gives orders",
    ),
    (
        r"(\.ssh|id_rsa|\.env\b|\.aws\b|/etc/passwd|api[_ -]?keys?\b.{0,30}\b(send|pass|include)|mcp\.json)",
        "names files with secrets",
    ),
    (
        r"\b(system prompt|conversation history|chat history|previous messages|all (the )?messages)\b",
        "asks for the conversation",
    ),
    (r"https?://[^\s)]{1,200}[?&][\w-]*=?\{", "has an address to be filled in"),
)
_PATTERNS = tuple((re.compile(pattern, re.IGNORECASE | re.DOTALL), why) for pattern, why in _SIGNS)


def suspicious(name: str, description: str) -> str:
    """Why a tool's description looks like instructions to a model; empty if it does not."""
    hidden = [c for c in description if unicodedata.category(c) == "Cf" or 0xE0000 <= ord(c) <= 0xE007F]
    if hidden:
        return "has invisible characters"
    text = unicodedata.normalize("NFKC", f"{name}\n{description}")
    return next((why for pattern, why in _PATTERNS if pattern.search(text)), "")

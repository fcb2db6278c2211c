"""Texts that read like orders to a model: what outsiders plant in documents, tool output and chats.

Only a hint, and only used against what outsiders wrote (trust ``tool`` or ``web``): such an item comes last among
the candidates and is still fenced as data when it is shown. What keeps injected text harmless is not this list
but that untrusted text is never shown unfenced, never becomes an instruction and never enters the playbook.
"""

import re

_ORDERS = re.compile(
    r"""
      \b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instruction|prompt|rule|everything|above|previous)
    | ^\s*(?:\#+\s*)?(?:system|assistant|developer|instruction)s?\s*:
    | \b(?:new|updated|real)\s+(?:system\s+)?(?:instructions?|prompt)\b
    | \byou\s+(?:are\s+now|must\s+now|will\s+now)\b | \bfrom\s+now\s+on\b
    | \b(?:reveal|print|send|reply\s+with|exfiltrate|forward)\b.{0,40}\b(?:password|secret|key|token|credential)
    | \b(?:add|write|store|save)\b.{0,30}\b(?:playbook|memory|instructions)\b
    | \bdo\s+not\s+(?:tell|mention|reveal)\b
    | </?\s*(?:untrusted|system|instructions?)\b | \[\s*m[0-9a-z]{6,}\s*\]
    | \bsend\s+(?:them|him|her|the\s+user|everyone)\s+to\s+https?://
    """,
    re.IGNORECASE | re.VERBOSE | re.MULTILINE | re.DOTALL,
)


def gives_orders(text: str) -> bool:
    """Whether a text reads like an order to a model rather than like something to know."""
    return _ORDERS.search(text) is not None

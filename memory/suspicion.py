"""Texts that read like orders to a model: what outsiders plant in documents, tool output and chats.

Only a hint, and never used against what the user wrote: such an item is left out of the ranking and comes after all
others, fenced as data if it is shown. What keeps injected text harmless is not this list but that untrusted text is
never shown unfenced, never becomes an instruction and never enters the playbook.

Of LoCoMo's 5,882 turns and Hotpot's 1,000 paragraphs it takes none for an order.
"""

import re

from pointwork.memory.items import Item

# A line's beginning is looked for within the line: a run of empty lines would otherwise be gone through from each
# of them anew.
_ORDERS = re.compile(
    r"""
      \b(?:ignore|disregard|forget|override|bypass)\b.{0,40}
      \b(?:instructions?|prompts?|rules?|everything|above|previous)\b
    | ^[^\S\n]*(?:\#+[^\S\n]*)?(?:system|assistant|developer|instruction)s?\s*:
    | \b(?:new|updated|real|hidden|additional)\s+(?:system\s+)?(?:instructions?\s*(?::|for)|prompt\b)
    | \byou\s+(?:must|will)\s+now\b | (?:^|[.:!]\s+)you\s+are\s+now\b
    | \bfrom\s+now\s+on,?\s+(?:you|always|never|when|answer)
    | \b(?:reveal|print|send|reply\s+with|exfiltrate|forward|leak|email|post)\b.{0,40}
      \b(?:passwords?|secrets?|api[\s_-]*keys?|access\s+tokens?|credentials?|system\s+prompt)\b
    | \b(?:add|write|store|save)\b.{0,30}\b(?:in|to|into)\s+(?:your|the)\s+(?:playbook|memory|instructions)\b
    | \bdo\s+not\s+(?:tell|mention|reveal|inform|show)\b.{0,20}\b(?:user|anyone|anybody|this|them)\b
    | </?\s*(?:untrusted|system|instructions?|assistant)\b | <\|im_\w+\|> | \[/?INST\]
    | ^[^\S\n]*(?:\[[^\S\n]*)?m\d+\s*(?:\]|>)
    | \bsend\s+(?:them|him|her|the\s+user|everyone)\s+to\s+https?://
    | \b(?:ai|llm|language)\s+(?:assistants?|agents?|models?)\s+(?:reading|processing|must|should|shall)\b
    | \b(?:dear|attention|note\s+to|important\s+for)\s+(?:the\s+|all\s+)?
      (?:ai|assistants?|agents?|llms?|(?:language\s+)?models?)\b
    | \b(?:when(?:ever)?|if)\b.{0,40}\basks?\b.{0,60}
      \b(?:always|you\s+(?:must|should)|(?:answer|reply)\s+that|respond\s+with)\b
    | \b(?:always|only)\s+(?:answer|respond|reply)\s+(?:that|with|by)\b
    | \b(?:user|developer|administrator)\s+(?:has\s+)?(?:approved|authori[sz]ed|instructs\s+you|wants\s+you\s+to)\b
    | \b(?:run|execute|call|invoke)\s+(?:the|this)\s+(?:tool|shell|command|function)\b.{0,40}\b(?:now|immediately)\b
    | \brm\s+-rf\b | \bcurl\s+\S*https?://
    | \bdelete\s+(?:all|every|everything)\b.{0,30}\b(?:files?|memor(?:y|ies)|records?|backups?|about)\b
    """,
    re.IGNORECASE | re.VERBOSE | re.MULTILINE | re.DOTALL,
)


def gives_orders(text: str) -> bool:
    """Whether a text reads like an order to a model rather than like something to know."""
    return _ORDERS.search(text) is not None


def suspect(item: Item) -> bool:
    """Whether somebody else than the user wrote what reads like an order: agents pass on what they read."""
    return item.trust != "user" and gives_orders(item.text)

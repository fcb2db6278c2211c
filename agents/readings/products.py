"""Amount times price: what things are worth where a table has only the factors."""

import re
from collections.abc import Sequence

from pointwork.agents.readings import lexicon
from pointwork.agents.readings.asking import numbers_rows
from pointwork.agents.readings.linking import name_stems
from pointwork.agents.readings.view import View
from pointwork.tools.catalog import Column


def named_product(view: View) -> str | None:
    """``hours times rate``: two number columns with a sign of multiplication, or both named by what is paid."""
    numbers = [c for c in view.kinds("number") if not numbers_rows(view, c) and view.own(c)]
    strong = [c for c in numbers if max(view.links[c.name].values(), default=0.0) >= 0.8]
    prices = [c for c in strong if set(name_stems(c.name)) & lexicon.PRICES]
    amounts = [c for c in strong if c not in prices and "per" not in name_stems(c.name)]
    if _are_costs(prices):
        amounts = [c for c in amounts if not set(name_stems(c.name)) & _TIMES]
    counts = re.search(r"\bhow many\b|^\W*(?:count|number of)\b", view.question.text, re.I)
    asked = view.at(lexicon.WORTH) and not view.at(lexicon.AVERAGE) and not counts and not _one(view, prices)
    paid = bool(prices and amounts and view.conditions and asked)
    if len(strong) < 2 or not (view.at(lexicon.TIMES) or paid):
        return None
    if paid and not view.at(lexicon.TIMES):
        pair = [max(amounts, key=view.strength), max(prices, key=view.strength)]
    else:
        pair = sorted(strong, key=view.strength)[-2:]
    for column in pair:
        view.explain(view.links[column.name])
    return f"{pair[0].name} * {pair[1].name}"


def _one(view: View, prices: Sequence[Column]) -> bool:
    """Whether the price of one is asked for: by the hour, or "what is the hourly pay"."""
    names = "|".join(re.escape(c.name).replace("_", r"\W+") for c in prices)
    called = rf"\b(?:is|was|are|were)\s+(?:the|an?|our|his|her|their|its)\s+(?:{names})\b"
    return view.at(lexicon.EACH) or bool(prices and re.search(called, view.question.text, re.I))


# A price is no price of a centimetre of height.
_SIZES = lexicon.stems("height width length depth cm mm age born temp temperature year")
# What something cost is no price of each hour that it took.
_COSTS, _RATES = lexicon.stems("cost"), lexicon.stems("per unit each hourly daily weekly rate price")
_TIMES = lexicon.stems("hours nights days weeks minutes")


def _are_costs(prices: Sequence[Column]) -> bool:
    return all(set(name_stems(c.name)) & _COSTS and not set(name_stems(c.name)) & _RATES for c in prices)


def _factors(view: View) -> tuple[list[Column], list[Column]]:
    """Columns of amounts and of prices; the only other number column is an amount, whatever it is called."""
    numbers = [c for c in view.kinds("number") if not numbers_rows(view, c) and view.own(c)]
    prices = [c for c in numbers if set(name_stems(c.name)) & lexicon.PRICES]
    others = [c for c in numbers if c not in prices and not {"per", *_SIZES} & set(name_stems(c.name))]
    amounts = [c for c in others if set(name_stems(c.name)) & lexicon.QUANTITIES]
    if _are_costs(prices):
        return [c for c in amounts if not set(name_stems(c.name)) & _TIMES], prices
    return amounts or (others if len(others) == 1 else []), prices


def worth_of(view: View) -> str | None:
    """Amount times price of a table that has both."""
    amounts, prices = _factors(view)
    return f"{amounts[0].name} * {prices[0].name}" if amounts and prices else None


def product_of(view: View) -> str | None:
    """Amount times price, where a question asks for a worth and the table has only its factors."""
    amounts, prices = _factors(view)
    if not view.at(lexicon.WORTH) or not amounts or not prices or _one(view, prices):
        return None
    numbers = view.kinds("number")
    money = [c for c in numbers if c not in amounts + prices and view.strength(c) > 0 and not numbers_rows(view, c)]
    if money:  # the worth itself is a column
        return None
    amount, price = max(amounts, key=view.strength), max(prices, key=view.strength)
    if not (view.conditions or view.at(lexicon.TOTAL)):
        return None
    direct = max(view.links[price.name].values(), default=0.0) >= 0.8 and not view.links[amount.name]
    total, value = view.at(lexicon.TOTAL), view.at(lexicon.VALUE)
    meant = total or value or max(view.links[amount.name].values(), default=0.0) >= 0.8
    if not meant or (direct and not total and not value):  # "what is the unit price of …": the price alone
        return None
    view.explain(view.links[amount.name])
    view.explain(view.links[price.name])
    return f"{amount.name} * {price.name}"

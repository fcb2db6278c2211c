"""What a group pays for the island ferry."""

ADULT = 4.60
CHILD = 2.30
BICYCLE = 1.50

# A group of this size or larger is given the discount, on tickets and not on bicycles.
GROUP_SIZE = 12
GROUP_DISCOUNT = 0.15


def group_fare(adults: int, children: int = 0, bicycles: int = 0) -> float:
    """The fare for one crossing, in crowns."""
    tickets = adults * ADULT + children * CHILD
    if adults + children >= GROUP_SIZE:
        tickets *= 1 - GROUP_DISCOUNT
    return round(tickets + bicycles * BICYCLE, 2)

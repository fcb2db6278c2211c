"""The bill of a guest's berth."""

RATE_PER_METRE = 1.80
MAX_LENGTH = 14.0
FREE_NIGHT = 7


class BerthTooShort(ValueError):
    """The boat is longer than the berths are."""


def berth_bill(length: float, nights: int) -> float:
    """What a boat pays, in crowns; every seventh night is free."""
    if length > MAX_LENGTH:
        raise BerthTooShort(f"{length} m is over {MAX_LENGTH} m: send the boat to the outer end")
    paid = nights - nights // FREE_NIGHT
    return round(length * RATE_PER_METRE * paid, 2)

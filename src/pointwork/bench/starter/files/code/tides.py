"""Roughly when the next high water is. For the office's blackboard, not for navigation."""

from datetime import datetime, timedelta

# From one high water to the next: 12 hours and 25 minutes.
PERIOD_MINUTES = 745

# High water here comes this much later than at the reference port, Port Selwick.
DELAY_MINUTES = 38


def next_high_water(last_at_port: datetime, now: datetime) -> datetime:
    """The first high water at the quay that is not before ``now``."""
    high = last_at_port + timedelta(minutes=DELAY_MINUTES)
    while high < now:
        high += timedelta(minutes=PERIOD_MINUTES)
    return high

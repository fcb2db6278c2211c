"""Sends the day's figures to the treasurer, and tries again if the line is down."""

import time
from collections.abc import Callable

MAX_ATTEMPTS = 5
FIRST_WAIT_SECONDS = 20


def send_with_retries(send: Callable[[], bool], sleep: Callable[[float], None] = time.sleep) -> int:
    """Send once more after each failure, waiting twice as long every time; how many attempts it took.

    Raises:
        ConnectionError: the last attempt failed too.
    """
    wait = float(FIRST_WAIT_SECONDS)
    for attempt in range(1, MAX_ATTEMPTS + 1):
        if send():
            return attempt
        if attempt < MAX_ATTEMPTS:
            sleep(wait)
            wait *= 2
    raise ConnectionError(f"not sent after {MAX_ATTEMPTS} attempts")

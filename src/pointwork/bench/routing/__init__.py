"""``pointwork bench routing``: sets where every arm's outcome is known, so that regret can be counted."""

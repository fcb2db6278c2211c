"""From the logs to a better policy: datasets, GRPO, rollouts, verified publication."""

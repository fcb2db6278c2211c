"""The roles that a configuration gives models to."""

ROLES = (
    "planner",
    "worker-small",
    "worker-large",
    "reader",
    "querier",
    "decomposer",
    "reckoner",
    "judge",
    "memory",
)

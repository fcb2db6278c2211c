"""Every error that Pointwork raises on purpose, in one tree.

    PointworkError
    ├── UsageError            the caller's mistake: wrong argument, unknown name, empty task
    ├── ConfigError           pointwork.toml or the environment is wrong; names file, line and key
    ├── RunError              a run could not go on
    │   ├── BudgetExceeded    a limit of the budget tree is reached
    │   ├── PlanError         a plan does not fit its rules
    │   ├── AgentError        an agent ended without an answer
    │   └── ToolError         a tool failed
    │       └── ToolDenied    a policy or a person refused the call
    ├── ProviderError         a model back end failed; .retryable says whether trying again can help
    │   ├── RateLimited       it said "later"
    │   └── ProviderTimeout   it did not answer in time
    ├── StoreError            the database refused, is locked, full or of another version
    └── TrainingError
        └── PublicationError  new weights did not provably reach the server

Each message says what was wrong, where, and what to do about it.
"""


class PointworkError(Exception):
    """Root of the tree."""


class UsageError(PointworkError):
    """The caller passed something that can not work."""


class ConfigError(PointworkError):
    """The configuration is wrong."""


class RunError(PointworkError):
    """A run could not go on."""


class BudgetExceeded(RunError):
    """A limit of the budget tree is reached.

    Attributes:
        limit: which limit: ``usd``, ``tokens``, ``seconds``, ``tool_calls`` or ``turns``.
        account: name of the account that has no more to give.
    """

    def __init__(self, message: str, *, limit: str = "", account: str = "") -> None:
        super().__init__(message)
        self.limit = limit
        self.account = account


class PlanError(RunError):
    """A plan does not fit its rules."""


class AgentError(RunError):
    """An agent ended without an answer."""


class NothingFound(AgentError):
    """Nothing that can be read speaks of what is asked: no other agent need try."""


class ToolError(RunError):
    """A tool failed."""


class ToolDenied(ToolError):
    """A policy or a person refused the call."""


class ProviderError(PointworkError):
    """A model back end failed.

    Attributes:
        retryable: whether the same request can succeed later.
    """

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


class RateLimited(ProviderError):
    """The back end asked to slow down.

    Attributes:
        retry_after: seconds the back end asked to wait, or None.
    """

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message, retryable=True)
        self.retry_after = retry_after


class ProviderTimeout(ProviderError):
    """The back end did not answer in time."""

    def __init__(self, message: str) -> None:
        super().__init__(message, retryable=True)


class StoreError(PointworkError):
    """The database refused, is locked, full or of another version."""


class TrainingError(PointworkError):
    """Training could not go on."""


class PublicationError(TrainingError):
    """New weights did not provably reach the server."""

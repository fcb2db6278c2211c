"""What leaves the store and comes into it: whole runs and routing logs as lines of JSON, logs of other programs."""

from pointwork.portable.files import write_lines
from pointwork.portable.importer import Report
from pointwork.portable.incoming import FORMATS, Format, import_decisions, import_runs
from pointwork.portable.messages import messages_of
from pointwork.portable.routing_logs import count_decisions, export_decisions
from pointwork.portable.secrets import known_secrets, without_secrets
from pointwork.portable.trajectories import count_runs, export_runs
from pointwork.portable.trials import Passing, Trial, pass_hat_k, passing, trials

__all__ = [
    "FORMATS",
    "Format",
    "Passing",
    "Report",
    "Trial",
    "count_decisions",
    "count_runs",
    "export_decisions",
    "export_runs",
    "import_decisions",
    "import_runs",
    "known_secrets",
    "messages_of",
    "pass_hat_k",
    "passing",
    "trials",
    "without_secrets",
    "write_lines",
]

"""By which words a task asks for what a tool does."""

from pointwork.tools import Tool
from pointwork.tools.policy import Taint, check


def test_what_is_stored_is_uploaded() -> None:
    upload = Tool("upload", "", {}, lambda: "", labels=frozenset({"egress", "writes"}))
    seen = Taint("Store report.txt in the bucket backup.")
    seen.saw_private("read_file", "Sales went up by four percent.", {"path": "report.txt"})
    assert check(upload, {"bucket": "backup", "content": "Sales went up by four percent."}, seen).allowed
    assert not check(upload, {"bucket": "public", "content": "Sales went up by four percent."}, seen).allowed

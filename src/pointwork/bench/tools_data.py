"""Public tool-retrieval sets, read from the files that their sources publish.

A set is its tools (dictionaries for ``ToolIndex``) and requests with what each needs: for each thing needed, the
names that serve it (several where a name stands for tools of several servers).
"""

import csv
import json
import re
from pathlib import Path
from typing import Any

from pointwork.errors import UsageError

Asked = tuple[str, list[list[str]]]
Tools = list[dict[str, Any]]


def _json(path: Path) -> Any:
    return json.loads(_text(path))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"{path} is not there; give the folder of the data sets with --data or POINTWORK_BENCH_DATA "
            "(docs/mcp.md says where each comes from)"
        ) from error


def _properties(described: dict[str, Any] | None) -> dict[str, Any]:
    found = {k: {"type": "string", "description": v.get("description", "")} for k, v in (described or {}).items()}
    return {"type": "object", "properties": found}


def seal_tools(folder: Path, split: str) -> tuple[Tools, list[Asked]]:
    """Seal-Tools (fairyshine/Seal-Tools, Apache-2.0): 4,076 tools; ``dev`` or ``test_in_domain``."""
    tools: Tools = []
    for line in _text(folder / "sealtools" / "tool.jsonl").splitlines():
        row = json.loads(line)
        tools.append(
            {
                "name": row["api_name"],
                "description": row["api_description"],
                "input_schema": _properties(row["parameters"]),
                "output_schema": _properties(row["responses"]),
            }
        )
    asked: list[Asked] = []
    for line in _text(folder / "sealtools" / f"{split}.jsonl").splitlines():
        row = json.loads(line)
        asked.append((row["query"], [[name] for name in dict.fromkeys(call["api"] for call in row["calling"])]))
    return tools, asked


def live_mcp_bench(folder: Path) -> tuple[Tools, list[Asked]]:
    """LiveMCPBench (icip-cas, Apache-2.0): the tools of 70 servers, 95 tasks with the tools that solved them.

    A tool is called ``server/tool``, as a client of many servers must; a needed name that several servers have is
    served by each of them. Names that no server has are left out, and so is a task without any other.
    """
    tools: Tools = []
    known: dict[str, list[str]] = {}
    taken: set[str] = set()
    for listed in _json(folder / "livemcpbench" / "tools.json"):
        for server, offered in listed["tools"].items():
            for tool in offered["tools"]:
                name, number = f"{server}/{tool['name']}", 2
                while name in taken:
                    name, number = f"{server}/{tool['name']}#{number}", number + 1
                taken.add(name)
                known.setdefault(tool["name"], []).append(name)
                about: str = tool.get("description") or ""
                schema: dict[str, Any] = tool.get("inputSchema") or dict[str, Any]()
                tools.append({"name": name, "description": about, "input_schema": schema})
    asked: list[Asked] = []
    for row in _json(folder / "livemcpbench" / "all_annotations.json"):
        lines = row["Annotator Metadata"]["Tools"].split("\n")
        names = dict.fromkeys(re.sub(r"^\s*\d+\.\s*", "", line).strip() for line in lines)
        wanted = [known[name] for name in names if name in known]
        if wanted:
            asked.append((row["Question"], wanted))
    return tools, asked


def meta_tool(folder: Path) -> tuple[Tools, list[Asked], list[Asked]]:
    """MetaTool (MIT): 199 tools, 20,614 requests for one and 497 for two, in people's own words."""
    about = _json(folder / "metatool" / "plugin_des.json")
    tools: Tools = [{"name": name, "description": text, "input_schema": {}} for name, text in about.items()]
    rows = csv.DictReader(_text(folder / "metatool" / "all_clean_data.csv").splitlines())
    one: list[Asked] = [(row["Query"], [[row["Tool"]]]) for row in rows]
    golden = _json(folder / "metatool" / "multi_tool_query_golden.json")
    return tools, one, [(row["query"], [[name] for name in row["tool"]]) for row in golden]

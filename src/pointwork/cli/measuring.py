"""``pointwork bench tools`` and ``pointwork bench safety``."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pointwork.cli.output import FAILED, err, out, print_json, table
from pointwork.errors import UsageError

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


class Encoder(StrEnum):
    """What memory and the tool index may use."""

    auto = "auto"
    static = "static"
    minilm = "minilm"


def bench_tools(
    data: Annotated[
        Path | None, typer.Option(help="Folder of the data sets.", envvar="POINTWORK_BENCH_DATA", show_envvar=True)
    ] = None,
    large: Annotated[bool, typer.Option(help="Also build an index of 100,000 tools.")] = True,
    encoder: Annotated[
        Encoder, typer.Option(help="What says what texts mean; auto: MiniLM where the extra 'embed' is installed.")
    ] = Encoder.auto,
    json: Json = False,
) -> None:
    """Measure how well the tool index finds tools, on public sets, with the same settings for all."""
    from pointwork.bench.tools_run import run

    if data is None or not data.is_dir():
        raise UsageError("give the folder of the data sets with --data (docs/mcp.md says where each comes from)")
    with err.status("tools") as status:
        found = run(data, large=large, encoder=encoder, tell=lambda what: status.update(what))
    if json:
        print_json(found)
        return
    rows = [
        (
            row["name"],
            row["tools"],
            row["requests"],
            *(f"{row['figures'][name]:.3f}" for name in ("R@1", "R@5", "C@5", "C@10", "R@20")),
            " ".join(f"{name} {value:.2f}" for name, value in row["targets"].items()),
            f"{row['tokens_shown']:.0f} of {row['tokens_all']:,}",
            f"{row['p50_ms']:.1f}/{row['p99_ms']:.1f}",
        )
        for row in found["sets"]
    ]
    heads = ("set", "tools", "asked", "R@1", "R@5", "C@5", "C@10", "R@20", "aimed at", "tokens shown", "p50/p99 ms")
    table(heads, rows, "no sets")
    if "large" in found:
        big = found["large"]
        out.print(
            f"{big['tools']:,} tools: built in {big['build_seconds']:.1f} s, {big['bytes_held'] / 1e6:.0f} MB, "
            f"search p50 {big['p50_ms']:.1f} ms, p99 {big['p99_ms']:.1f} ms"
        )


def bench_safety(json: Json = False) -> None:
    """Play attack chains with a model that obeys them, and honest work with the same tools.

    Exit code 1 if an attack reaches its goal, or more than two honest workflows are stopped.
    """
    from pointwork.bench.safety_run import run

    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    with err.status("chains") as status:
        found = run(tell=lambda what: status.update(what))
    if json:
        print_json(found)
    else:
        families: dict[tuple[str, str], list[bool]] = {}
        for row in found["outcomes"]:
            families.setdefault((row["kind"], row["family"]), []).append(row["reached"])
        rows = [(kind, family, len(ends), sum(ends)) for (kind, family), ends in families.items()]
        table(("kind", "family", "chains", "reached their end"), rows, "no chains")
        out.print(
            f"attacks that reached their goal: {found['reached']} of {found['attacks']}; "
            f"honest work stopped: {found['blocked']} of {found['benign']}"
        )
    if found["reached"] or found["blocked"] > 2:
        raise typer.Exit(FAILED)

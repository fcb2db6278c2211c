"""How the report of what there is to train on is shown."""

from typing import Any

from pointwork.cli.output import out, table


def show_report(report: dict[str, Any]) -> None:
    """The report of the data, for people."""
    r = report
    out.print(
        f"{r['runs']} runs, {r['rollouts']} with a reward (mean {r['reward']:.2f}, {r['correct']} correct); "
        f"{r['groups']} tasks: {r['mixed']} with mixed outcomes, {r['constant']} always alike, {r['single']} tried "
        "once"
    )
    out.print(
        f"{sum(r['turns'].values())} turns; tokens: {r['prompt_tokens']:,} of prompts, {r['completion_tokens']:,} "
        f"written, {r['distinct_tokens']:,} to compute with shared prefixes once"
    )
    rows = [("turns", role or "(no role)", count) for role, count in r["turns"].items()]
    rows += [("version", version or "(base)", count) for version, count in r["versions"].items()]
    notes = {
        "rollouts without turns": r["without_turns"],
        "turns without log-probabilities": r["without_logprobs"],
        "turns whose tokens the trainer made": r["rendered"],
        "turns drawn greedily": r["greedy"],
    }
    rows += [("note", name, count) for name, count in notes.items() if count]
    rows += [("dropped runs", why, count) for why, count in r["dropped_runs"].items()]
    rows += [("dropped turns", why, count) for why, count in r["dropped_turns"].items()]
    table(("", "", "count"), rows, "nothing to train on")

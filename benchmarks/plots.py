"""Draws what the benchmarks wrote: needs matplotlib, which nothing else here does.

python benchmarks/plots.py --overhead overhead.json --growth growth.json --folder docs
"""

import argparse
import json
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt

BAR = 20.0  # CPU milliseconds per task that Pointwork is to stay under


def overhead(data: dict[str, Any], file: Path) -> None:
    """CPU per task at 50 in flight, a bar per rival, whiskers from the lowest to the highest round."""
    found = data["summary"]
    names = sorted(found, key=lambda name: (found[name]["shape"], -found[name]["many_cpu_ms"]))
    figure, axes = plt.subplots(figsize=(7, 0.32 * len(names) + 0.9))
    values = [found[name]["many_cpu_ms"] for name in names]
    spread = [
        [found[name]["many_cpu_ms"] - found[name]["many_cpu_range"][0] for name in names],
        [found[name]["many_cpu_range"][1] - found[name]["many_cpu_ms"] for name in names],
    ]
    colours = ["#1f5fa8" if name.startswith("pointwork") else "#9aa5b1" for name in names]
    axes.barh(names, values, xerr=spread, color=colours, ecolor="#444", error_kw={"lw": 0.8})
    axes.axvline(BAR, color="#b03030", lw=0.8, ls="--")
    for place, name in enumerate(names):
        calls = f"{found[name]['shape']}, {found[name]['calls']:.0f} calls"
        axes.text(1, place, calls, va="center", fontsize=6, color="white" if values[place] > 15 else "black")
    axes.set_xlabel("CPU ms per task, 50 in flight (dashed: the bar for Pointwork)", fontsize=8)
    axes.tick_params(labelsize=8)
    figure.tight_layout()
    figure.savefig(file, dpi=110)


def growth(data: dict[str, Any], file: Path) -> None:
    """Milliseconds over the number of runs, both axes logarithmic."""
    sizes = sorted(data["ms"], key=int)
    figure, axes = plt.subplots(figsize=(7, 4.2))
    for name in data["ms"][sizes[0]]:
        axes.plot([int(s) for s in sizes], [data["ms"][s][name] for s in sizes], marker="o", ms=3, lw=1, label=name)
    axes.set(xscale="log", yscale="log", xlabel="runs in the store", ylabel="ms")
    axes.grid(visible=True, which="major", lw=0.3)
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    figure.tight_layout()
    figure.savefig(file, dpi=110)


def main() -> None:
    """Draw what is given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--overhead", type=Path)
    parser.add_argument("--growth", type=Path)
    parser.add_argument("--folder", type=Path, default=Path())
    given = parser.parse_args()
    for draw, source in ((overhead, given.overhead), (growth, given.growth)):
        if source is not None:
            draw(json.loads(source.read_text()), given.folder / f"{draw.__name__}.png")


if __name__ == "__main__":
    main()

"""Every answer of the one-step tasks, worked out anew from the files by plain Python, without the tools.

Half of them are held out: do not read this file to make the agents better.
"""

import math
import statistics
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any

import pytest

from pointwork.bench.tasks import starter_tasks

WORKED: dict[str, Callable[[Any], Any]] = {
    # arithmetic
    "ar01": lambda f: 7 * (24 * 0.330 + 1.8),
    "ar02": lambda f: 20 - 3 * 2.75 - 2 * 1.40,
    "ar03": lambda f: 18 * 2 * 5 * 46,
    "ar04": lambda f: 640 * (100 - 85) / 100,
    "ar05": lambda f: 925 * 1.04,
    "ar06": lambda f: 450 / 6 * 10,
    "ar07": lambda f: 86.40 * 1.10 / 3,
    "ar08": lambda f: (210 - 70) / 3.5,
    "ar09": lambda f: 5 * 12 / 8,
    "ar10": lambda f: (79 - 59.25) / 79 * 100,
    "ar11": lambda f: (58 - 4) / 2,
    "ar12": lambda f: sum(range(15, 41)),
    "ar13": lambda f: 3 * 143 / 22,
    "ar14": lambda f: 350 / 100 * 7.8 * 1.65,
    "ar15": lambda f: (100 + 14) / 2,
    "ar16": lambda f: math.ceil(19 * 9 / 12),
    "ar17": lambda f: 2400 * 1.035**3,
    "ar18": lambda f: 12 - 7 * 1.45,
    "ar19": lambda f: (184 - 40 + 52) * 3 / 4,
    "ar20": lambda f: 136 / 0.85,
    "ar21": lambda f: math.ceil((5 * 28 + 17) / 9),
    "ar22": lambda f: 5 * 74 - 4 * 71,
    "ar23": lambda f: 14.5 * 8 * 30 / 1000,
    "ar24": lambda f: 1475 / (5 * 35 + 2 * 60),
    "ar25": lambda f: 96 - 96 / 2 - 96 / 3,
    "ar26": lambda f: 0.18 * 450 - 0.12 * 600,
    "ar27": lambda f: 63 * 5 / 7,
    "ar28": lambda f: 48 * 24 - 1049,
    # tables
    "tb01": lambda f: len(f.where(f.orders, status="cancelled")),
    "tb02": lambda f: f.total(f.where(f.orders, product="rope"), "quantity"),
    "tb03": lambda f: f.mean(f.where(f.staff, role="mechanic"), "hourly_wage"),
    "tb04": lambda f: f.only(f.staff, "hourly_wage")["name"],
    "tb05": lambda f: len([r for r in f.weather if r["rain_mm"] > 10]),
    "tb06": lambda f: date.fromisoformat(f.only(f.weather, "min_c", min)["date"]),
    "tb07": lambda f: f.total(f.where(f.trips, boat="Otter"), "passengers"),
    "tb08": lambda f: f.often(f.trips, "skipper"),
    "tb09": lambda f: len({r["supplier"] for r in f.stock}),
    "tb10": lambda f: f.only(f.stock, "unit_cost")["item"],
    "tb11": lambda f: f.only(f.books, "pages")["pages"],
    "tb12": lambda f: f.often(f.books, "shelf"),
    "tb13": lambda f: len([r for r in f.loans if r["returned"] is None]),
    "tb14": lambda f: f.mean(f.where(f.trips, route="Night"), "passengers"),
    "tb15": lambda f: f.often(f.staff, "role", min),
    "tb16": lambda f: f.only(f.staff, "started", min)["name"],
    "tb17": lambda f: f.total(f.where(f.trips, route="Lighthouse"), "takings"),
    "tb18": lambda f: f.total(f.where(f.staff, site="Yard"), "weekly_hours"),
    "tb19": lambda f: f.where(f.weather, date="2024-04-14")[0]["wind_kmh"],
    "tb20": lambda f: [r["item"] for r in f.stock if r["on_hand"] < r["reorder_at"]],
    "tb21": lambda f: len(f.where(f.orders, customer="Cove Hotel", status="shipped")),
    "tb22": lambda f: 100 * len(f.where(f.weather, sky="fog")) / len(f.weather),
    "tb23": lambda f: max(r["unit_price"] for r in f.where(f.orders, product="varnish")),
    "tb24": lambda f: f.only(f.books, "year", min)["author"],
    "tb25": lambda f: len(f.where(f.trips, boat="Marten")) > len(f.where(f.trips, boat="Otter")),
    "tb26": lambda f: bool(f.where(f.staff, role="clerk", site="Mill")),
    "tb27": lambda f: statistics.median(r["max_c"] for r in f.weather),
    "tb28": lambda f: (
        f.where(f.stock, item="flares")[0]["on_hand"] * f.where(f.stock, item="flares")[0]["unit_cost"]
    ),
    # lookup
    "lk01": lambda f: f.say("history", r"by the firm (Callow & Daughters)"),
    "lk02": lambda f: f.say("people", r"harbour master\*\* is (\w+ \w+)\. Berths"),
    "lk03": lambda f: f.say("insurance", r"policy (HQ-\d+)"),
    "lk04": lambda f: f.say("kitchen", r"starter is called (\w+)"),
    "lk05": lambda f: f.num("workshop", r"cures in (\d+) hours"),
    "lk06": lambda f: f.num("visitors", r"VHF channel (\d+)"),
    "lk07": lambda f: f.say("otter", r"loft of (\w+ \w+)"),
    "lk08": lambda f: f.say("energy", r"October by (\w+ \w+)"),
    "lk09": lambda f: f.num("regatta", r"since (\d{4})"),
    "lk10": lambda f: f.num("energy", r"carries (\d+) solar"),
    "lk11": lambda f: f.say("heron", r"propeller is (under the stairs) of the net loft"),
    "lk12": lambda f: f.say("people", r"beside the door of the (ferry office),"),
    "lk13": lambda f: f.say("marten", r"colour is called (Baltic green)"),
    "lk14": lambda f: f.say("garden", r"of the sort (Keswick Codlin)"),
    "lk15": lambda f: bool(f.say("ferry", r"Dogs (travel free)")),
    "lk16": lambda f: not f.say("kitchen", r"Nuts are (not used at all)"),
    "lk17": lambda f: f.num("garden", r"ferry office for ([\d.]+) crowns"),
    "lk18": lambda f: f.num("history", r"It is (\d+) metres long"),
    "lk19": lambda f: f.say("history", r"After her came (\w+ \w+)"),
    "lk20": lambda f: f.say("people", r"Her deputy is (\w+ \w+)"),
    "lk21": lambda f: f.num("minutes-2024-03", r"Callow & Daughters ([\d,]+)"),
    "lk22": lambda f: f.num("minutes-2024-06", r"final bill was ([\d,]+)"),
    "lk23": lambda f: f.num("visitors", r"there are ([\d.]+) metres at the inner"),
    "lk24": lambda f: f.say("regatta", r"large and (two and a half hours) for the small"),
    "lk25": lambda f: list(f.say("storage", r"with a licence: (\w+ \w+) and (\w+ \w+)")),
    "lk26": lambda f: list(f.say("people", r"aiders\*\* are (\w+ \w+), (\w+ \w+) and (\w+ \w+)")),
    "lk27": lambda f: f.say("berths.py", r"class (\w+)\("),
    "lk28": lambda f: f.num("export.py", r"MAX_ATTEMPTS = (\d+)"),
    # dates-units
    "du01": lambda f: (date(2024, 6, 17) - date(2024, 3, 3)).days,
    "du02": lambda f: date(2025, 1, 12) + timedelta(days=100),
    "du03": lambda f: 26.2 * 1.609344,
    "du04": lambda f: f.num("marten", r"launch of ([\d.]+) metres") / 0.3048,
    "du05": lambda f: date(1989, 11, 9).strftime("%A"),
    "du06": lambda f: max(date(2025, 5, n) for n in range(1, 32) if date(2025, 5, n).weekday() < 5),
    "du07": lambda f: (350 - 32) / 1.8,
    "du08": lambda f: f.num("kitchen", r"at (\d+) degrees Celsius") * 1.8 + 32,
    "du09": lambda f: 2025 - 1992,
    "du10": lambda f: f.clock(19 * 60 + 50 + 137),
    "du11": lambda f: 9000 / 3600,
    "du12": lambda f: (4 * 16 + 6) * 453.59237 / 16,
    "du13": lambda f: f.day("energy", r"guarantee ends on (\d+ \w+ \d{4})"),
    "du14": lambda f: datetime.strptime(f.say("ferry", r"March to (\d+ \w+)") + " 2024", "%d %B %Y").date(),
    "du15": lambda f: (date(2024, 9, 11) - date(2024, 5, 1)).days / 7,
    "du16": lambda f: f.months_after(date(2023, 8, 31), 18),
    "du17": lambda f: 72 / 3.6,
    "du18": lambda f: f.num("heron", r"usual speed of (\d+) knots") * 1.852,
    "du19": lambda f: (
        (date(2024, 10, 27) - date(2024, 3, 29)).days + 1 if f.say("ferry", r"from (29 March to 27 October)") else 0
    ),
    "du20": lambda f: f.num("heron", r"tank holds (\d+) litres") / 3.785411784,
    "du21": lambda f: date(2024, 11, 8) - timedelta(weeks=3),
    "du22": lambda f: len([n for n in range(1, 31) if date(2025, 4, n).weekday() < 5]),
    "du23": lambda f: 43560 * 0.3048**2,
    "du24": lambda f: 1.75 * 1000,
    "du25": lambda f: 2100 % 4 == 0 and (2100 % 100 != 0 or 2100 % 400 == 0),
    "du26": lambda f: 2 > 3.785411784 / 2,
    "du27": lambda f: f.clock(15 * 60 + 30 - 12 * 60),
    "du28": lambda f: f.clock(14 * 60 + 15 - 200),
}


TASKS = {task.id: task for task in starter_tasks("all") if task.id in WORKED}


@pytest.mark.parametrize("id_", WORKED)
def test_the_answer_is_what_the_files_say(id_: str, figures: Any) -> None:
    figures.check(TASKS[id_], WORKED[id_](figures))


def test_each_task_of_these_kinds_is_worked_out() -> None:
    kinds = {task.kind for task in TASKS.values()}
    assert {task.id for task in starter_tasks("all") if task.kind in kinds} == WORKED.keys()

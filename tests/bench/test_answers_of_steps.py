"""Every answer of the two- and three-step tasks, worked out anew from the files by plain Python, without the tools.

Half of them are held out: do not read this file to make the agents better.
"""

import math
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any

import pytest

from pointwork.bench.tasks import starter_tasks

WORKED: dict[str, Callable[[Any], Any]] = {
    # two-step
    "s2-01": lambda f: f.total(f.where(f.trips, boat="Marten"), "takings") * 0.08,
    "s2-02": lambda f: f.total(f.where(f.trips, route="Island"), "takings") / 4,
    "s2-03": lambda f: f.months_after(f.day("marten", r"last one was on (\d+ \w+ \d{4})"), 20),
    "s2-04": lambda f: f.months_after(
        f.day("heron", r"survey was on (\d+ \w+ \d{4})"), int(f.num("heron", r"every (\d+) months"))
    ),
    "s2-05": lambda f: 10 * f.num("ferry", r"for an adult is ([\d.]+)") - f.num("ferry", r"ten trips costs (\d+)"),
    "s2-06": lambda f: (
        3 * f.num("ferry", r"for an adult is ([\d.]+)") + 2 * f.num("ferry", r"under 14 it is ([\d.]+)")
    ),
    "s2-07": lambda f: f.where(f.books, title=f.often(f.loans, "title"))[0]["author"],
    "s2-08": lambda f: f.only(f.staff, "hourly_wage", min)["site"],
    "s2-09": lambda f: f.num("energy", r"carries (\d+) solar") * f.num("energy", r"panels of (\d+) watts") / 1000,
    "s2-10": lambda f: (
        10 * f.num("energy", r"takes ([\d.]+) kilowatts at full") * f.num("energy", r"from the grid costs ([\d.]+)")
    ),
    "s2-11": lambda f: max(r["max_c"] for r in f.weather) * 1.8 + 32,
    "s2-12": lambda f: max(r["wind_kmh"] for r in f.weather) / 1.852,
    "s2-13": lambda f: f.day("history", r"On (\d+ \w+ \d{4}) a fire").strftime("%A"),
    "s2-14": lambda f: f.num("regatta", r"since (\d{4})") - f.day("history", r"founded on (\d+ \w+ \d{4})").year,
    "s2-15": lambda f: 60 / f.num("workshop", r"for each (\d+) millimetres"),
    "s2-16": lambda f: (
        30 / f.num("kitchen", r"For (\d+) people") * f.num("kitchen", r": ([\d.]+) kilograms of potatoes")
    ),
    "s2-17": lambda f: min(r["pages"] for r in f.books) / 40,
    "s2-18": lambda f: len(f.where(f.orders, status="shipped")) - len(f.where(f.orders, status="open")),
    "s2-19": lambda f: (
        f.where(f.weather, date="2024-04-06")[0]["max_c"] - f.where(f.weather, date="2024-04-06")[0]["min_c"]
    ),
    "s2-20": lambda f: (
        f.num("insurance", r"came to ([\d,]+) crowns") - f.num("insurance", r"insurer paid ([\d,]+)")
    ),
    "s2-21": lambda f: f.num(
        {"Heron": "heron"}[max(f.trips, key=lambda r: r["passengers"])["boat"]], r"licensed for (\d+) passengers"
    ),
    "s2-22": lambda f: f.total(f.where(f.trips, skipper=f.often(f.trips, "skipper", min)), "passengers"),
    "s2-23": lambda f: (
        f.where(f.orders, order_id=1012)[0]["quantity"] * f.where(f.orders, order_id=1012)[0]["unit_price"]
    ),
    "s2-24": lambda f: (
        f.where(f.staff, name="Elke Straw")[0]["hourly_wage"]
        * f.where(f.staff, name="Elke Straw")[0]["weekly_hours"]
    ),
    "s2-25": lambda f: (
        f.day("minutes-2024-03", r"# Minutes, (\d+ \w+ \d{4})")
        + timedelta(weeks={"ten": 10}[f.say("minutes-2024-03", r"within (\w+) weeks")])
    ),
    "s2-26": lambda f: (
        (20 * f.num("fares.py", r"CHILD = ([\d.]+)") + 2 * f.num("fares.py", r"ADULT = ([\d.]+)"))
        * (1 - f.num("fares.py", r"GROUP_DISCOUNT = ([\d.]+)"))
    ),
    "s2-27": lambda f: f.num("regatta", r"lighthouse and back: ([\d.]+) nautical") * 1.852,
    "s2-28": lambda f: f.clock(4 * 60 + 10 + int(f.num("tides.py", r"PERIOD_MINUTES = (\d+)"))),
    # three-step
    "s3-01": lambda f: (
        f.num("marten", r"about (\d+) square metres")
        * 2
        / f.num("workshop", r"hull paint (\d+) square")
        * f.num("workshop", r"costs (\d+) crowns a litre")
    ),
    "s3-02": lambda f: (
        9 * f.num("visitors", r"costs ([\d.]+) crowns per metre") * (8 - 1)
        if f.say("visitors", r"The (seventh) night in a row is free")
        else 0
    ),
    "s3-03": lambda f: (
        (
            datetime.strptime(
                f.say("minutes-2024-06", r"next meeting is on (\d+ \w+)") + " 2024", "%d %B %Y"
            ).date()
            - f.day("minutes-2024-06", r"# Minutes, (\d+ \w+ \d{4})")
        ).days
    ),
    "s3-04": lambda f: f.only(f.weather, "min_c", min)["wind_kmh"] / 3.6,
    "s3-05": lambda f: (
        f.total(f.where(f.trips, boat="Heron"), "hours") * f.num("heron", r"burns (\d+) litres an hour") * 1.70
    ),
    "s3-06": lambda f: (
        f.num("otter", r"battery holds (\d+)") * (1 - 0.20) / f.num("energy", r"charged at ([\d.]+) kilowatts")
    ),
    "s3-07": lambda f: sum(
        r["quantity"] * r["unit_price"]
        for r in f.where(f.orders, customer=f.often(f.orders, "customer"), status="shipped")
    ),
    "s3-08": lambda f: sum(
        r["on_hand"] * r["unit_cost"] for r in f.where(f.stock, supplier=f.often(f.stock, "supplier"))
    ),
    "s3-09": lambda f: (
        f.num("marten", r"launch of ([\d.]+)") * f.num("storage", r"shed it costs (\d+) crowns") * 0.8
        + f.num("storage", r"again costs (\d+)")
    ),
    "s3-10": lambda f: (
        f.num("heron", r"She is ([\d.]+) metres long") * f.num("storage", r"in the yard (\d+) crowns")
        + f.num("storage", r"again costs (\d+)")
    ),
    "s3-11": lambda f: (
        (f.num("energy", r"used ([\d.]+) kilowatt-hours a day") - f.num("energy", r"one uses ([\d.]+\d)"))
        * 365
        * f.num("energy", r"from the grid costs ([\d.]+)")
    ),
    "s3-12": lambda f: (
        f.num("insurance", r"premium is ([\d,]+)") / 2 / ((date(2024, 10, 27) - date(2024, 3, 29)).days + 1)
    ),
    "s3-13": lambda f: (
        f.num("garden", r"gave (\d+) kilograms of honey")
        / (f.num("garden", r"jars of (\d+) grams") / 1000)
        * f.num("garden", r"ferry office for ([\d.]+)")
    ),
    "s3-14": lambda f: (
        2 * f.num("kitchen", r"Celsius, (\d+) loaves") * f.num("kitchen", r"sells for (\d+)")
        if f.say("kitchen", r"baked on (Tuesdays and Fridays)")
        else 0
    ),
    "s3-15": lambda f: (
        (f.num("minutes-2024-03", r"came to ([\d,]+) crowns") + f.num("minutes-2024-03", r"crowns, (\d+) less"))
        / f.num("energy", r"from the grid costs ([\d.]+)")
    ),
    "s3-16": lambda f: (
        (
            f.num("minutes-2024-06", r"final bill was ([\d,]+)")
            / f.num("minutes-2024-03", r"Brough Engineering ([\d,]+)")
            - 1
        )
        * 100
    ),
    "s3-17": lambda f: (
        f.months_after(f.day("marten", r"last one was on (\d+ \w+ \d{4})"), 20)
        + timedelta(days=int(f.num("insurance", r"more than (\d+) days")))
    ),
    "s3-18": lambda f: (
        (date(2024, 8, 21) - f.day("minutes-2024-06", r"# Minutes, (\d+ \w+ \d{4})")).days
        if f.say("minutes-2024-06", r"will be on (24 August)")
        else 0
    ),
    "s3-19": lambda f: (
        4
        * f.only(f.where(f.staff, role="mechanic"), "started")["hourly_wage"]
        * f.only(f.where(f.staff, role="mechanic"), "started")["weekly_hours"]
    ),
    "s3-20": lambda f: (
        50
        * f.mean(
            f.where(
                f.orders,
                status="shipped",
                product=max(
                    {r["product"] for r in f.orders},
                    key=lambda p: f.total(f.where(f.orders, status="shipped", product=p), "quantity"),
                ),
            ),
            "unit_price",
        )
    ),
    "s3-21": lambda f: len(
        [r for r in f.loans if r["member"] == f.often(f.loans, "member") and r["returned"] is None]
    ),
    "s3-22": lambda f: math.ceil(f.where(f.books, title=f.often(f.loans, "title"))[0]["pages"] / 30),
    "s3-23": lambda f: (
        f.num("regatta", r"lighthouse and back: ([\d.]+)")
        * 1.852
        / ((60 + f.num("regatta", r"in 1 hour (\d+) minutes")) / 60)
    ),
    "s3-24": lambda f: (
        (
            (60 + f.num("regatta", r"in 1 hour (\d+) minutes"))
            / (60 + f.num("regatta", r"is 1 hour (\d+) minutes"))
            - 1
        )
        * 100
    ),
    "s3-25": lambda f: f.total(f.weather, "rain_mm") * 80 / f.num("garden", r"butts of ([\d,]+) litres"),
    "s3-26": lambda f: (
        100
        * len([r for r in f.weather if r["wind_kmh"] > f.num("ferry", r"wind is above (\d+) km/h")])
        / len(f.weather)
    ),
    "s3-27": lambda f: f.clock(
        3 * 60
        + 15
        + int(f.num("tides.py", r"DELAY_MINUTES = (\d+)"))
        + int(f.num("tides.py", r"PERIOD_MINUTES = (\d+)"))
    ),
    "s3-28": lambda f: sum(int(f.num("export.py", r"FIRST_WAIT_SECONDS = (\d+)")) * 2**n for n in range(4)),
}


TASKS = {task.id: task for task in starter_tasks("all") if task.id in WORKED}


@pytest.mark.parametrize("id_", WORKED)
def test_the_answer_is_what_the_files_say(id_: str, figures: Any) -> None:
    figures.check(TASKS[id_], WORKED[id_](figures))


def test_each_task_of_these_kinds_is_worked_out() -> None:
    kinds = {task.kind for task in TASKS.values()}
    assert {task.id for task in starter_tasks("all") if task.kind in kinds} == WORKED.keys()

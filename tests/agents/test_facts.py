"""What the files say around a task, as the planner of steps is shown it."""

import asyncio
from pathlib import Path

import pytest

from pointwork.agents.facts import rows as table_rows
from pointwork.agents.facts import settings
from pointwork.agents.facts.figures import in_one_form
from pointwork.agents.facts.gathered import (
    LENGTH,
    MANY,
    ROWS,
    SENTENCES,
    Fact,
    facts_around,
    sentences_besides,
    shown,
)
from pointwork.agents.facts.settings import sections, sections_about
from pointwork.agents.facts.standing import of_others, where
from pointwork.tools import ToolContext

STAFF = "name,hours a week,pay an hour\nMabel Orme,24,13.50\nJonah Pike,10,12.00\nAda Birk,31,15.00\n"
ROUNDS = "round,driver,leaves\nCoast,Mabel Orme,06:10\nMoor,Jonah Pike,07:25\n"
RULES = """# Rules

## Care

The autoclave is serviced every eighteen months, last on 3 May 2025. It stands in the cellar.

## Guests

Nobody may bring a dog. The keys to the alarm are with Ada Birk.
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "staff.csv").write_text(STAFF)
    (tmp_path / "rules.md").write_text(RULES)
    return tmp_path


def facts(task: str, root: Path | None) -> list[Fact]:
    return asyncio.run(facts_around(task, ToolContext(root=root)))


def lines(task: str, root: Path | None) -> list[str]:
    return shown(facts(task, root)).splitlines()


def test_a_row_that_is_named_is_shown_with_its_columns(root: Path) -> None:
    first = facts("What does Mabel earn in a full week?", root)[0]
    assert first == Fact("table:staff.csv", "staff: name Mabel Orme; hours a week 24; pay an hour 13.5")


def test_sentences_stand_behind_their_heading_with_figures_in_one_form(root: Path) -> None:
    found = facts("When is the autoclave due for its service?", root)
    said = next(fact for fact in found if "autoclave" in fact.text)
    serviced = "The autoclave is serviced every 18 months, last on 2025-05-03."
    assert said.text == f"Care: {serviced} It stands in the cellar."
    assert said.source.startswith("file:rules.md")
    assert not [line for line in lines("When is the autoclave due?", root) if "dog" in line or "#" in line]


def test_whom_a_sentence_speaks_of_takes_what_room_its_values_leave(root: Path) -> None:
    named = "The washer in the back room hums a little when it is cold and shakes the shelf beside it."
    own = "It takes two trays at once, is cleaned by whoever used it last and has to be descaled every 9 weeks."
    (root / "washer.md").write_text(f"# Washer\n\n{named} {own}\n")
    found = lines("When does the washer have to be descaled?", root)[0]
    assert found.startswith("Washer: The washer in")
    assert found.endswith("every 9 weeks.")
    assert "shakes the shelf" not in found
    assert len(found.removeprefix("Washer: ").replace(" …", "").split()) == 28
    (root / "washer.md").write_text(
        f"# Washer\n\n{named} {own.replace('has', 'has, says the maker of it and so do we,')}\n"
    )
    long = lines("When does the washer have to be descaled?", root)[0]
    assert long.startswith("Washer: It takes 2 trays")
    assert long.endswith(" …")


def test_who_reads_many_lines_is_shown_more_sentences(root: Path) -> None:
    said = [f"The key of boat {n} costs {n + 3} pounds." for n in range(2 * MANY)]
    (root / "keys.md").write_text("# Keys\n\n" + "\n\n".join(said) + "\n")
    task, context = "What does the key of a boat cost?", ToolContext(root=root)
    known = facts(task, root)
    more = asyncio.run(sentences_besides(task, context, known))
    assert len([fact for fact in known if fact.text.startswith("Keys: ")]) == SENTENCES
    assert len(more) == MANY - SENTENCES
    assert not {fact.text for fact in more} & {fact.text for fact in known}
    assert asyncio.run(sentences_besides(task, ToolContext(root=None), known)) == []


def test_who_chooses_among_many_lines_is_shown_faint_ones_too(root: Path) -> None:
    said = ["The pump is oiled every 9 weeks.", "The gate shuts at 18:30.", "A bucket of paint costs 12 pounds."]
    (root / "pump.md").write_text("# Pump\n\n" + "\n\n".join(said) + "\n")
    task, context = "When is the pump in the yard oiled again, and the hose after it?", ToolContext(root=root)
    known = facts(task, root)
    more = asyncio.run(sentences_besides(task, context, known))
    assert not any("paint" in fact.text for fact in known)
    assert any("paint" in fact.text for fact in more)


def test_what_a_named_row_refers_to_is_shown_too(root: Path) -> None:
    (root / "rounds.csv").write_text(ROUNDS)
    assert "staff: name Mabel Orme; hours a week 24; pay an hour 13.5" in lines("Who drives to the Coast?", root)


def test_a_row_of_whom_a_sentence_names_is_shown(root: Path) -> None:
    found = lines("How many hours has who keeps the keys to the alarm?", root)
    assert [line for line in found if "name Ada Birk; hours" in line]


def test_a_rare_word_tells_more_than_a_frequent_one(root: Path) -> None:
    balls = "".join(f"red ball,{n}\n" for n in range(9))
    (root / "toys.csv").write_text(f"what,place\n{balls}blue kite of the twins at Saltmere,attic\n")
    assert lines("Where did the red kite go?", root)[0].startswith("toys: what blue kite")


def test_a_cell_that_is_named_whole_tells_more_than_one_in_part(root: Path) -> None:
    (root / "boats.csv").write_text("boat,by\nOtter lodge,us\nOtter,Penrose and two sons of old Saltmere\n")
    assert lines("How long is the Otter?", root)[0].startswith("boats: boat Otter; by")


def test_of_two_rows_about_one_the_column_that_is_asked_for_decides(root: Path) -> None:
    (root / "ringing.csv").write_text("name,phone\nMabel Orme,07700 900114\n")
    (root / "a.csv").write_text("name,size\nMabel Orme,12\n")
    assert lines("What is the phone of Mabel Orme?", root)[0].startswith("ringing: ")
    assert lines("What is the size of Mabel Orme?", root)[0].startswith("a: ")


def test_rows_that_share_little_are_left_out_and_those_of_one_table_are_few(root: Path) -> None:
    often = "".join(f"week of toil {n}\n" for n in range(9))
    (root / "toil.csv").write_text(f"what\n{often}")
    assert not [line for line in lines("Hours that Mabel Orme has in a week?", root) if "of toil" in line]
    assert len([line for line in lines("How much toil?", root) if "of toil" in line]) == 3


def test_what_stands_in_many_rows_is_not_followed(root: Path) -> None:
    (root / "rounds.csv").write_text(ROUNDS)
    (root / "shifts.csv").write_text("day,who\nMonday,Mabel Orme\nTuesday,Mabel Orme\nFriday,Mabel Orme\n")
    found = lines("Who drives to the Coast?", root)
    assert [line for line in found if line.startswith("staff: name Mabel")]
    assert not [line for line in found if line.startswith("shifts: day Monday")]


def test_rows_of_whom_a_sentence_names_are_about_nobody_else(root: Path) -> None:
    (root / "walks.csv").write_text("walk,led by\nDell,Ada Birk\nFell,Ada Birk\nMoor,Jonah Pike\n")
    (root / "staff.csv").write_text(STAFF + "Ada Bir,2,3\n")
    found = lines("With whom are the keys to the alarm?", root)
    assert [line for line in found if "name Ada Birk;" in line]
    assert not [line for line in found if "walk Dell" in line or "name Ada Bir;" in line]


def test_sentences_are_found_by_whom_a_row_names(root: Path) -> None:
    (root / "rounds.csv").write_text(ROUNDS)
    (root / "homes.md").write_text("# Homes\n\nMabel Orme has the cottage at 12 Quay Street.\n")
    assert [line for line in lines("When does the Coast round begin?", root) if "12 Quay Street" in line]


def test_a_sentence_without_a_number_or_a_name_holds_no_value(root: Path) -> None:
    (root / "more.md").write_text("# More\n\nThe autoclave is old and loud.\n\nThe autoclave has two doors.\n")
    found = lines("How is the autoclave?", root)
    assert [line for line in found if "2 doors" in line]
    assert not [line for line in found if "loud" in line]


def test_the_best_of_something_may_stand_in_another_table(root: Path) -> None:
    for name in ("boats", "oars", "sails"):
        (root / f"{name}.csv").write_text("owner,length\nus,3\n")
    columns = [fact for fact in facts("Which is the longest that Mabel has?", root) if not fact.source]
    assert len(columns) == 2
    assert len([fact for fact in facts("Which is that Mabel has?", root) if not fact.source]) == 1


def test_a_section_that_is_called_so_comes_first(root: Path) -> None:
    (root / "house.ini").write_text("[misc]\nalarm = 1\nbell = 2\n\n[alarm]\nbell = 3\nlamp = 4\n")
    assert [one.name for one in sections_about(root, "Which bell has the alarm?", 2)] == ["alarm", "misc"]


def test_rows_of_an_empty_cell_leave_it_out(root: Path) -> None:
    (root / "staff.csv").write_text(STAFF + "Niall Crewe,,9\n")
    assert lines("What about Niall?", root)[0] == "staff: name Niall Crewe; pay an hour 9"


def test_columns_stand_where_a_query_is_needed(root: Path) -> None:
    (root / "boats.csv").write_text("boat,crew\nTeal,3\n")
    assert {"boats: boat, crew", "staff: name, hours a week, pay an hour"} <= set(lines("Who earns most?", root))
    assert facts("Who earns most?", root)[-1].source == ""
    assert len([fact for fact in facts("What does Mabel earn?", root) if not fact.source]) == 1


def test_a_large_table_is_for_queries(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_rows, "MAX_ROWS", 2)
    assert not [line for line in lines("What does Mabel earn?", root) if "13.5" in line]
    assert "staff: name, hours a week, pay an hour" in lines("What does Mabel earn?", root)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("It is kept at minus 20 degrees, the other at minus 18.", "It is kept at -20 degrees, the other at -18."),
        ("Minus 4.5 °C was the lowest.", "-4.5 °C was the lowest."),
        ("the takings minus 7 per cent", "the takings minus 7 per cent"),
    ],
)
def test_what_is_below_zero_has_its_sign(text: str, form: str) -> None:
    assert in_one_form(text) == form


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("A quarter of what we took goes to Ann.", "25 per cent of what we took goes to Ann."),
        ("The firm pays two thirds of it.", "The firm pays 66.6666666667 per cent of it."),
        ("One third of the members is enough.", "33.3333333333 per cent of the members is enough."),
        ("Half the fee, or half of 3 fees.", "50 per cent of the fee, or 50 per cent of 3 fees."),
        ("Pay a third now, half when it is done.", "Pay 33.3333333333 per cent now, 50 per cent when it is done."),
        ("Children pay half, members a quarter less.", "Children pay 50 per cent, members 25 per cent less."),
        ("It asks at most four fifths unless it rains.", "It asks at most 80 per cent unless it rains."),
        ("How long until it is three quarters full?", "How long until it is 75 per cent full?"),
        ("Children pay half price.", "Children pay 50 per cent of the price."),
        ("Paid at double the hourly rate.", "Paid at 2 times the hourly rate."),
        ("Time and a half after 8 hours, double time then.", "1.5 times after 8 hours, 2 times then."),
        ("A quarter cheaper, a fifth longer than ours.", "25 per cent cheaper, 20 per cent longer than ours."),
        ("Is it twice as long as the rope?", "Is it 2 times as long as the rope?"),
        ("Three quarters of an hour before, half an hour at least", "45 minutes before, 30 minutes at least"),
        *((same, same) for same in (  # no share of something
            "In the first half of 2024, at half past 10.30, for the small half, 42 euros, the other half is due.",
            "The second quarter of the year, the third of the boats, a third boat, a fifth day.",
            "Half a tablet at half-time, washed twice.",
            "The other half of it, the half of them that came, and a week and a third.",
            "It costs 60 a quarter or 90 pounds a quarter.",
            "We had a good time and a half bottle of wine on a third longer day.",
            "It is paid over 4 quarters, and 5 quarters are late.",
        )),
    ],
)  # fmt: skip
def test_shares_are_in_figures(text: str, form: str) -> None:
    assert in_one_form(text) == form


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("Minutes, 18 June 2026: We meet on 17 September.", "Minutes, 2026-06-18: We meet on 2026-09-17."),
        ("Minutes, 4 November 2026: Back by 8 January.", "Minutes, 2026-11-04: Back by 2027-01-08."),
        ("From 3 May to 9 June 2026 it is shut.", "From 2026-05-03 to 2026-06-09 it is shut."),
        ("Built in 1989, shut until 1 October.", "Built in 1989, shut until 1 October."),
        ("On 3 May 2025, 4 May 2026 and 1 June.", "On 2025-05-03, 2026-05-04 and 1 June."),
        ("Closed from 1 October to 31 March.", "Closed from 1 October to 31 March."),
        ("18 June 2026: shut in July, open by 31 June.", "2026-06-18: shut in July, open by 31 June."),
    ],
)
def test_a_day_without_a_year_has_that_of_the_other_dates(text: str, form: str) -> None:
    assert in_one_form(text) == form


@pytest.mark.parametrize(
    ("asked", "form"),
    [
        ("How many days was the season of 2026?", "It runs from 2026-03-29 to 2026-10-27."),
        ("How many days until it ends, from 1 May 2026?", "It runs from 2026-03-29 to 2026-10-27."),
        ("How many days is the season?", "It runs from 29 March to 27 October."),
        ("Was the season of the ferry longer in 2025 than in 2026?", "It runs from 29 March to 27 October."),
    ],
)
def test_of_the_year_that_is_asked_for(root: Path, asked: str, form: str) -> None:
    text = "It runs from 29 March to 27 October."
    assert in_one_form(text, asked) == form
    (root / "ferry.md").write_text(f"# Season of the ferry\n\n{text} The season has days and days.\n")
    assert any(form in line for line in lines(asked, root))


def test_the_sign_is_part_of_a_value() -> None:
    fact = Fact("file:vault.md:3", "Vault: It is kept at -20 degrees.")
    assert where("20", "degrees in the vault", [fact]) is None
    assert where("-20", "degrees in the vault", [fact])


def test_rows_are_read_again_once_a_file_has_changed(root: Path) -> None:
    assert "pay an hour 13.5" in lines("What does Mabel earn?", root)[0]
    (root / "staff.csv").write_text(STAFF.replace("13.50", "14.25"))
    assert "pay an hour 14.25" in lines("What does Mabel earn?", root)[0]


def test_settings_stand_by_sections_with_their_comments(root: Path) -> None:
    (root / "vans.toml").write_text(
        "# vans\n[vans.Clover]\nmot_expires = 2026-06-19\nload = 600 # kg\n\n[alarm]\ncode = 'x'\n"
    )
    found = facts("Will Clover still have an MOT in July?", root)
    assert Fact("file:vans.toml:2-5", "vans.Clover: mot_expires 2026-06-19; load 600 (kg)") in found
    assert not [fact for fact in found if "code" in fact.text]


def test_settings_in_yaml_and_of_many_keys() -> None:
    text = "shop:\n  opens: 09:30\n" + "".join(f"  k{n}: {n}\n" for n in range(12))
    found = list(sections("conf/shop.yaml", text))
    assert [(one.name, len(one.pairs)) for one in found] == [("shop", 10), ("shop", 3)]
    assert found[0].pairs[0] == ("opens", "09:30")


def test_a_settings_file_that_is_large_holds_data(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "house.toml").write_text("[alarm]\narmed_at = '18:20'\n")
    monkeypatch.setattr(settings, "MAX_BYTES", 30)
    assert sections_about(root, "When is the alarm armed?", 2)
    monkeypatch.setattr(settings, "MAX_BYTES", 20)
    assert sections_about(root, "When is the alarm armed?", 2) == []


def test_a_settings_file_that_is_no_text_says_nothing(root: Path) -> None:
    (root / "bad.ini").write_bytes(b"[alarm]\ncode = \x00\xff\x00\n")
    assert sections_about(root, "What is the code of the alarm?", 2) == []


@pytest.mark.parametrize(
    ("written", "form"),
    [
        ("on 29th of August 2026", "on 2026-08-29"),
        ("August 29, 2026 at 5.45 pm", "2026-08-29 at 17:45"),
        ("12 am and 12 noon", "00:00 and 12 noon"),
        ("14:00:00", "14:00"),
        ("31 June 2026", "2026-06-31"),
        ("17 pm", "17 pm"),
        ("no one asks for forty-five", "no one asks for 45"),
        ("one hundred and two", "102"),
    ],
)
def test_figures_have_one_form(written: str, form: str) -> None:
    assert in_one_form(written) == form


def test_where_nothing_is_to_be_read_there_is_nothing(tmp_path: Path) -> None:
    assert facts("What does Mabel earn?", None) == []
    assert facts("What does Mabel earn?", tmp_path) == []


def test_it_does_not_grow_with_the_files(tmp_path: Path) -> None:
    for number in range(20):
        head = ",".join(["name", *(f"c{place}" for place in range(60))])
        (tmp_path / f"t{number}.csv").write_text(f"{head}\n" + f"boiler{',100' * 60}\n" * 30)
    boiler = "The boiler " + "is very old and " * 60
    (tmp_path / "page.md").write_text("\n\n".join(f"{boiler} no {number}." for number in range(40)))
    found = lines("How old is the boiler?", tmp_path)
    assert 0 < len([line for line in found if "name boiler" in line]) <= ROWS
    assert len([line for line in found if "The boiler" in line]) <= SENTENCES
    assert max(map(len, found)) <= LENGTH + 20


TRIPS = "trip,boat,route,takings\nT1,Heron,Island,202.40\nT2,Heron,Estuary,18.00\nT3,Otter,Island,73.60\n"


@pytest.mark.parametrize(
    ("step", "answer", "stands"),
    [
        ("takings of the Island route", "202.4", False),  # those of all its trips are meant
        ("takings of the Heron on the Island route", "202.4", True),
        ("takings of T1", "202.4", True),
        ("boat of T1", "Heron", True),
        ("route of the Heron", "Island", False),
        ("takings", "202.4", True),  # of none in particular, and only one is shown
    ],
)
def test_the_value_of_one_row_is_not_that_of_many(root: Path, step: str, answer: str, stands: bool) -> None:
    (root / "trips.csv").write_text(TRIPS)
    first = next(fact for fact in facts("What did trip T1 take in?", root) if "T1" in fact.text)
    found = where(answer, step, [first])
    assert (found is not None) is stands
    assert found is None or found.text == first.text


def test_rows_that_say_the_same_are_no_doubt(root: Path) -> None:
    (root / "trips.csv").write_text(TRIPS.replace("73.60", "202.40"))
    first = next(fact for fact in facts("What did trip T1 take in?", root) if "T1" in fact.text)
    assert where("202.4", "takings of the Island route", [first]) is not None


def test_a_sentence_about_another_thing_is_not_the_line(root: Path) -> None:
    (root / "machines.csv").write_text("machine,serviced every (months)\nsaw,9\nlathe,12\n")
    found = facts("When is the saw due for its service? How is it with the autoclave?", root)
    sentence = next(fact for fact in found if "autoclave" in fact.text)
    assert where("18", "months between services of the autoclave", found) is not None
    assert where("18", "months between which the saw is serviced", found) is None
    assert where("18", "months between which the saw is serviced", [sentence]) is not None


def test_a_date_is_asked_for_and_no_time_is_read() -> None:
    told = [
        Fact(
            "file:a.md:1",
            "Open day: On 2026-06-13 the doors open at 10:00. The 14 June is for members, 25 of them.",
        )
    ]
    for answer, step, stands in (
        ("2026-06-13", "date of the open day", True),
        ("14 June", "Date for the members", True),
        ("10:00", "date of the open day", False),
        ("25", "the date for the members", False),
        ("10:00", "time the doors open", True),
        ("25", "number of members at that date", True),
    ):
        assert (where(answer, step, told) is not None) is stands, answer


@pytest.mark.parametrize(
    ("task", "strange"),
    [
        ("When is the Marten's survey due?", {0}),
        ("When is the Heron's survey due?", {1, 4}),
        ("Is the Marten's survey due before the Heron's?", {4}),
        ("When is the next survey due?", set[int]()),
        ("When is the Otter's survey due?", set[int]()),
        ("When are the sails changed, if not in winter?", set[int]()),  # names no page whole
    ],
)
def test_the_same_section_of_another_page_is_of_another(task: str, strange: set[int]) -> None:
    said = [
        "Heron: Survey: It is due every 24 months.",
        "Marten: Survey: The last was on 2022-10-17, the next due after 20 months.",
        "Heron: Sails: They are changed every 9 years.",
        "Insurance: A survey costs 120 crowns.",
        "Winter storage: Sails: They are dried for 3 days.",
    ]
    assert of_others(task, said) == strange

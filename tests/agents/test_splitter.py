"""The rule-based splitter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointwork.agents.splitter import answer_type_of, split


def parts(task: str) -> list[str]:
    return [subtask.text for subtask in split(task)]


@pytest.mark.parametrize(
    "task",
    [
        "What is 17% of 2340?",
        "How many bread and butter plates are in stock?",
        "Tom has 3 boxes of 12 apples. He gives away 7. How many apples are left?",
        "Write a short poem about rain and wind",
        "Dr. Wu paid 3.50 for tea",
        "The total of my four scores is 284. What must the fifth be?",
        "Take 10 % off a price of 80 euros",
        "A shirt costs 40 euros. Take 10 % off the price of it.",
        "The club turns 40 in 2027. What year was it when the club turned 25?",
        "Would you go there rather than anyone else?",
        "What can the van on that round carry?",
        "hello",
    ],
)
def test_one_thing_stays_one_thing(task: str) -> None:
    assert parts(task) == [task]


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("Find the gate's width and then double it.", ["Find the gate's width", "double {s1}."]),
        ("Who painted the barn, and what is 6 times 9?", ["Who painted the barn", "what is 6 times 9?"]),
        ("What is 6 * 7? Then subtract 2 from the result.", ["What is 6 * 7?", "subtract 2 from {s1}."]),
        ("average price of wool, and what is 20% of 85?", ["average price of wool", "what is 20% of 85?"]),
        ("What is 2 + 2, and who made this gate?", ["What is 2 + 2", "who made this gate?"]),
        ("Count the rows in a.csv; list the files", ["Count the rows in a.csv", "list the files"]),
        ("1. Add 2 and 3\n2. Multiply that by 4\n3. Say hello", ["Add 2 and 3", "Multiply {s1} by 4", "Say hello"]),
        ("The van seats 9. How many vans for 30 people? What is 2+2?",
         ["The van seats 9. How many vans for 30 people?", "What is 2+2?"]),
        ("Find what the Heron weighs. How many crates hold that?",
         ["Find what the Heron weighs.", "How many crates hold {s1} (the Heron)?"]),
        ("Take the largest boat in Torness. Who built it?",
         ["Take the largest boat in Torness.", "Who built {s1}?"]),
        ("Of all the boats on our list, take the one with the largest crew. Who built it?",
         ["Of all the boats on our list, take the one with the largest crew.", "Who built {s1}?"]),
        ("Say Ann agrees. On which day would the boat then be due back?",
         ["Say Ann agrees.", "On which day would the boat then be due back?"]),
        ("Which boat has the largest crew, and who built it? I only need the name of the builder.",
         ["Which boat has the largest crew", "who built {s1}?"]),
        ("What is the price of the coat that's been hired out most often?",
         ["Which coat has been hired out most often?", "What is the price of {s1}?"]),
        ("Among all the boats of the north coast, who sails on the one with the largest crew?",
         ["Which boats has the largest crew?", "Among all the boats of the north coast, who sails on {s1}?"]),
        ("Look up when the Heron was surveyed. What date is 20 months after that?",
         ["Look up when the Heron was surveyed.", "What date is 20 months after {s1}?"]),
        ("Whoever minds the bees: which key do they have?", ["Who minds the bees?", "Which key does {s1} have?"]),
        ("The boat that sank in the bay – who built it?", ["Which boat sank in the bay?", "Who built {s1}?"]),
        ("I need whoever keeps the folder. Which extension do I dial?",
         ["Who keeps the folder?", "Which extension do I dial ({s1})?"]),
        ("What is the pay of the person Ann Reed reports to?",
         ["Who is it that Ann Reed reports to?", "What is the pay of {s1}?"]),
        ("Who is the person Ann Reed reports to?", ["Who is the person Ann Reed reports to?"]),
        ("How old is the author of The Ferry at Low Water?",
         ["Who is the author of The Ferry at Low Water?", "How old is {s1}?"]),
        ("Which driver serves the stop that gets more loaves than any other?",
         ["Which stop gets the most loaves?", "Which driver serves {s1}?"]),
        ("Put four per cent on Ann's fee and tell me the new figure.",
         ["What is Ann's fee?", "{s1} * (1 + 4/100)"]),
        ("Take 12.5% off what the blue skis cost.", ["What the blue skis cost?", "{s1} * (1 - 12.5/100)"]),
        ("We want a feast when the club turns forty. What year will that be?",
         ["In what year was the club founded?", "{s1} + 40"]),
        ("On what day will Ann Reed have been with us exactly ten years?",
         ["When did Ann Reed join?", "ten years after {s1}"]),
        ("It all comes to 925 kg. Is that over the van's payload?",
         ["What is the van's payload?", "Is 925 more than {s1}?"]),
        ("I come four and a half hours before curtain-up.", ["At what time is curtain-up?",
         "four and a half hours before {s1}"]),
        ("Blue skis – by what percentage is the shop price above the trade price?",
         ["What is the shop price of Blue skis?", "What is the trade price of Blue skis?",
          "abs({s1} - {s2}) / {s2} * 100"]),
        ("Who has the hut? And by the way, what does it cost?", ["Who has the hut?", "what does {s1} cost?"]),
    ],
)  # fmt: skip
def test_parts_are_cut_and_linked(task: str, expected: list[str]) -> None:
    assert parts(task) == expected


def test_a_link_is_a_dependency() -> None:
    first, second, third = split("Add 2 and 3; multiply the sum by 4; who wrote notes.md?")
    assert (first.needs, second.needs, third.needs) == ((), ("s1",), ())


@given(st.text(alphabet="abc 12.,;?!\n-)Then and what", min_size=1).filter(str.strip))
def test_whatever_comes_there_is_a_plan_that_loses_no_number(task: str) -> None:
    import re

    subtasks = split(task)
    assert 1 <= len(subtasks) <= 8
    assert all(subtask.text for subtask in subtasks)
    for number, subtask in enumerate(subtasks, 1):
        assert all(int(need[1:]) < number for need in subtask.needs)
    if len(subtasks) == 1:
        assert subtasks[0].text == task.strip()
    # list numbers are structure, not content
    kept = set(re.findall(r"\d{3,}", " ".join(subtask.text for subtask in subtasks)))
    assert set(re.findall(r"\d{3,}", task)) <= kept


@pytest.mark.parametrize(
    ("task", "second"),
    [
        (
            "Who took out the most library loans, and how many of that person's are still open?",
            "how many of {s1}'s library loans are still open?",
        ),
        ("Which shelf has the most tools, and how many of them cost less?", "how many of {s1}'s tools cost less?"),
        ("Who has the most boats, and how many of those boats are red?", "how many of those boats are red?"),
        (
            "Which customer placed the fewest orders in May? How many of theirs were shipped?",
            "How many of {s1}'s orders were shipped?",
        ),
    ],
)
def test_of_whoever_has_most_the_things_counted_are_named(task: str, second: str) -> None:
    assert split(task)[1].text == second


def test_of_things_found_them_are_the_things() -> None:
    assert split("Which tools cost over 50, and how many of them are red?")[1].text == "how many of {s1} are red?"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Would Hattie be let in after ten?", "yes-no"),
        ("May Lady Corrin go to the jetty?", "yes-no"),
        ("Will it be tea or coffee?", "text"),
        ("Can you tell me the price of the ladder?", "text"),
        ("Would you know the price of the ladder?", "text"),
        ("Can the ladder be hired?", "yes-no"),
        ("May I ask who keeps the bees?", "text"),
        ("I want to sign the offer on 2025-06-05. Am I still inside it?", "yes-no"),
        ("The heap weighs 9 kg. Too much for the small machine?", "yes-no"),
        ("At 12 per cent less, would the treasurer still have had to sign?", "yes-no"),
        ("One adult with 40 kg in the Wigeon: allowed?", "yes-no"),
        ("The builders are 11 days late. Is what we may keep more than 25000?", "yes-no"),
        ("does he weigh too much for me without a sandbag", "yes-no"),
        ("Let me know if the ladder holds Ada.", "yes-no"),
        ("Tell me if it is over the limit, and what it costs.", "text"),
        ("May I put 60 euros on my card?", "yes-no"),
        ("May takings at the kiosk: the sum?", "text"),
        ("Is it more than 3 or less?", "yes-no"),
        ("Will the beams hold? Say yes if they do.", "yes-no"),
        ("One week instead of a month. Cheaper, yes or no?", "yes-no"),
        ("Have to cancel the calendar. What do we owe?", "text"),
        ("Is the tea still on? What does a ticket cost?", "text"),
        ("And the brake test of the other bikes, is due on?", "text"),
        ("And the other bike, being seen in May, is due again when?", "text"),
        ("Is it known when the lamp is changed?", "text"),
        ("When, at the latest, has the book to be with the printer?", "text"),
        ("Had T047 been put later, when should Dilwyn have signed on?", "text"),
        ("Is it really under sixty pounds? Well, tell me the amount.", "text"),
        ("Need six sacks from the mill - cost?", "text"),
        ("Could I have the price of the ladder?", "text"),
        ("Do what the notes say.", "text"),
        ("However late it is, is the gate open?", "yes-no"),
        ("Is the backup finished before 05:00, when Ruth comes in?", "yes-no"),
        ("Please tell me whether the kiln is free.", "yes-no"),
        ("Somebody asked me if the kiln is free.", "yes-no"),
        ("Is the loft free, and what would it cost?", "text"),
        ("And if I, as staff, fancy 4 pastries?", "text"),
        ("is it known what the ladder costs", "text"),
        ("I'd like to know whether the kiln is free.", "yes-no"),
    ],
)
def test_what_is_answered_by_yes_or_no(text: str, kind: str) -> None:
    assert answer_type_of(text) == kind


@pytest.mark.parametrize(
    ("task", "first", "second"),
    [
        (
            "How many days after the visit to the plant was the firm's letter written?",
            "On what date was the visit to the plant?",
            "On what date was the firm's letter written?",
        ),
        (
            "How many days after the fire at the mill did the club meet?",
            "On what date was the fire at the mill?",
            "On what date did the club meet?",
        ),
        (
            "How many days from the fire to the day when the roof was done?",
            "On what date was the fire?",
            "On what date was the day when the roof was done?",
        ),
        (
            "How many weeks from the flood to the payment?",
            "On what date was the flood?",
            "On what date was the payment?",
        ),
    ],
)
def test_time_between_two_events_is_two_dates(task: str, first: str, second: str) -> None:
    assert [step.text for step in split(task)][:2] == [first, second]


def test_steps_that_leave_out_what_is_given_are_none() -> None:
    given = "14 kg of beans went into the drum and 11.9 kg came out. What percentage of the weight was lost?"
    assert len(split(given)) == 1
    assert len(split("What percentage of the weight of the drum is the weight of the lid?")) == 3

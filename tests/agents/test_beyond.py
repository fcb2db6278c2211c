"""What a task asks beyond its dates and measures is not answered by them."""

import pytest

from pointwork.agents.readings.beyond import outright


@pytest.mark.parametrize(
    "text",
    [
        "My ticket runs out on 26 August 2025. Until what day can I still renew it?",
        "The parcel was handed in on 19 May 2025. On which day does it count as delivered?",
        "Until what day can a ticket of 26 August 2025 be renewed?",
        "From what date on is 1 month at today's fee too dear?",
        "If I set up a fresh vat on 26 May 2025, on which day is it ripe?",
        "We came on 5 June 2025. Is it cheaper on a weekday?",
        "What do both groups pay us in one month at the fees of today?",
        "What do we earn in 3 weeks at today's price?",
        "Emergency at 02:00, it lasted 3.5 hours. What does that cost?",
        "I protest on 2 May 2025, two days after the match. Am I within the days allowed?",
        "What is the mean of the daily minima from 7 April 2025 to 9 April 2025?",
        "How many per cent of the days of April 2025 were windy, of the days in the log?",
        "An orchid feed for 60 litres of water: how many ml?",
        "At 9 hours a week, how many weeks does the quilt stand for?",
        "She did 21 hours of work. How many weeks of hay pay as much?",
        "If the ship sank on 15 April 1912, on what day was the funeral?",
        "What did Amery owe for the canoe on 2 June 2025, a weekday?",
        "Ewa paid on 7 April 2025, seven weeks early. Her refund?",
        "How many minutes would its bulb be short of 3 hours?",
        "The service of van 7 is 30 days after 3 March 2025. When is that?",
        "All the hay since the list begins, in tonnes of 1000 kg.",
    ],
)
def test_what_needs_more_than_its_dates_is_not_read_from_them(text: str) -> None:
    assert outright(text) is None


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        (
            "The ship sank on 15 April 1912. What day was that?",
            {"operation": "weekday", "date": "1912-04-15", "other": ""},
        ),
        ("On which day did 14 July 1789 fall?", {"operation": "weekday", "date": "1789-07-14", "other": ""}),
        (
            "The ship sank on 15 April 1912. On what weekday did that happen to the crew?",
            {"operation": "weekday", "date": "1912-04-15", "other": ""},
        ),
        (
            "The invoice is of 3 March 2025 and is to be paid in 30 days. By which date?",
            {"operation": "add", "date": "2025-03-03", "other": "30 days"},
        ),
        (
            "It costs nothing. What date is 2 weeks after 5 May 2025?",
            {"operation": "add", "date": "2025-05-05", "other": "2 weeks"},
        ),
        (
            "What date is 2 weeks after 5 May 2025, when prices go up?",
            {"operation": "add", "date": "2025-05-05", "other": "2 weeks"},
        ),
        ("What is today's date plus 3 weeks?", {"operation": "add", "date": "today", "other": "3 weeks"}),
        ("Which date is 30 days as of today?", {"operation": "add", "date": "today", "other": "30 days"}),
        ("Can you add 3 weeks to 5 May 2025?", {"operation": "add", "date": "2025-05-05", "other": "3 weeks"}),
        (
            "If I was born on 5 May 1990, what day was that?",
            {"operation": "weekday", "date": "1990-05-05", "other": ""},
        ),
        ("On which\n\nday was 5 May 2025?", {"operation": "weekday", "date": "2025-05-05", "other": ""}),
        ("Is 26 August 2025 a weekday?", {"operation": "is_a", "date": "2025-08-26", "other": "weekday"}),
        (
            "When is the fee due that is payable 30 days after 3 March 2025?",
            {"operation": "add", "date": "2025-03-03", "other": "30 days"},
        ),
        (
            "How many hours does Ann work from 8:00 to 16:30 with 45 minutes of lunch?",
            {"expression": "(990 - 480 - 45) / 60"},
        ),
        ("How many minutes long is a 2 hour film?", {"expression": "(2 hour) to minutes"}),
        ("I walked for 90 minutes. How many hours is that?", {"expression": "(90 minutes) to hours"}),
        ("She ran for 5 miles. How many km is that?", {"expression": "(5 miles) to km"}),
        ("How many km/h are 60 miles per hour?", {"expression": "(60 miles per hour) to km/h"}),
        ("The recipe called for 2 cups of milk: how many ml?", {"expression": "(2 cups) to ml"}),
        ("The recipe asks for 2 litres of milk: how many ml?", {"expression": "(2 litres) to ml"}),
        ("How many minutes are 3 hours?", {"expression": "(3 hours) to minutes"}),
        ("How many minutes does the 3 hours make?", {"expression": "(3 hours) to minutes"}),
    ],
)
def test_what_asks_for_them_is(text: str, arguments: dict[str, str]) -> None:
    read = outright(text)
    assert read is not None
    assert read.arguments == arguments

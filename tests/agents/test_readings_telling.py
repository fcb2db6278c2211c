"""Who somebody is, where a sentence says it outright."""

import pytest

from pointwork.agents.readings.sentences import Sentence
from pointwork.agents.readings.telling import named, told
from pointwork.tools.passages import Passage


def _told(question: str, *texts: str) -> str:
    found = [Sentence(text, "file:a.md", Passage("a.md", 1, 1, "", text)) for text in texts]
    who = told(question, found)
    return who.name if who is not None else ""


@pytest.mark.parametrize(
    ("question", "text", "name"),
    [
        ("Who is the bar manager?", "The bar manager is Callum Reyes.", "Callum Reyes"),
        ("who's our first aider", "Our first aider is now Dr Ines de Vries.", "Dr Ines de Vries"),
        ("Who is the fire warden?", "Ewan Cribb is the fire warden until May.", "Ewan Cribb"),
        ("Who is the treasurer?", "Ask Ada Moor, the treasurer, for the key.", "Ada Moor"),
        ("Who is the treasurer?", "The key is with our treasurer, Ada Moor.", "Ada Moor"),
        ("Who tunes the piano?", "Agnes Thwaite plays and tunes the piano, a Broadwood.", "Agnes Thwaite"),
        ("Who is it that tunes our piano?", "Agnes Thwaite tunes the piano.", "Agnes Thwaite"),
        ("Who plays the accordion?", "Bo Lund speaks Danish, and Jory Pascoe plays the accordion.", "Jory Pascoe"),
        ("Who tunes the piano?", "Staff: Agnes Thwaite tunes the piano.", "Agnes Thwaite"),
        ("Who cleans the hall?", "The hall is large, and Ann Bell cleans everything there.", "Ann Bell"),
        ("Who runs the box office?", "Sunniva Holt also runs our box office.", "Sunniva Holt"),
    ],
)
def test_it_is_said_outright(question: str, text: str, name: str) -> None:
    assert _told(question, "The harbour has two piers.", text) == name


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Who is the bar manager?", "The former bar manager was Callum Reyes."),
        ("Who is the bar manager?", "The bar manager's sister is Ada Moor."),
        ("Who is the bar manager?", "The bar manager is paid by the hour."),
        ("Who is the bar manager?", "Callum Reyes, the bar manager's brother, has a boat."),
        ("Who tunes the piano?", "Agnes Thwaite never tunes the piano."),
        ("Who tunes the piano?", "Agnes Thwaite, whose brother tunes the piano, sings."),
        ("Who tunes the piano?", "She tunes the piano."),
        ("Who tunes the piano?", "Mark and Joe Bell tune the piano."),
        ("Who cleans the hall?", "The hall is large, and Ann Bell cleans the roof."),
        ("Who tunes the piano?", "Agnes Thwaite tunes the organ."),
        ("Who has the key?", "Ada Moor has the key."),  # of having, others know more
        ("What is the bar?", "The bar is Callum Reyes."),
    ],
)
def test_it_is_not_said(question: str, text: str) -> None:
    assert _told(question, text) == ""


def test_two_that_say_different_things_say_nothing() -> None:
    texts = ("The bar manager is Callum Reyes.", "Our bar manager is Ada Moor.")
    assert _told("Who is the bar manager?", *texts) == ""
    assert _told("Who is the bar manager?", texts[0], texts[0]) == "Callum Reyes"


@pytest.mark.parametrize(
    ("question", "text", "thing"),
    [
        ("Of which batch was beer lost?", "Of batch G-106 forty litres were lost.", "G-106"),
        ("What locker holds the flags?", "The flags are in locker 12.", "locker 12"),
        ("Which batch was lost?", "Batch G-106 was lost, and batch G-107 was not.", ""),
        ("Which batch was lost after batch G-106?", "Batch G-106 was the last to be lost.", ""),
        ("Which batch was lost?", "The batch was lost.", ""),
        ("Which instrument does Bo play?", "His instrument is the cello, which he plays at home.", "cello"),
        ("Which colour has the gate?", "Its colour is dark green for the summer.", "dark green"),
        ("Which colour has the green gate?", "Its colour is green.", ""),
        ("Which mill is driven by water?", "Our mill is open on Monday.", ""),
        ("Who lost batch G-106?", "Batch G-106 was lost.", ""),
    ],
)
def test_a_thing_by_its_kind(question: str, text: str, thing: str) -> None:
    assert named(question, Sentence(text, "file:a.md", Passage("a.md", 1, 1, "", text))) == thing

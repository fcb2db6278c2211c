"""What the subtasks of a run share while it runs, under its budget: see ``memory/shared.py``.

The board is this process's: a run that another process goes on with has an empty one.
"""

from collections.abc import Sequence

from pointwork.agents.plan import Plan
from pointwork.agents.services import RunInHand, Services
from pointwork.agents.state import Try
from pointwork.agents.tainting import written_trust
from pointwork.memory import Item, quoting
from pointwork.memory.items import UNTRUSTED
from pointwork.memory.shared import Board, Gate

TOKENS = 150  # of what others shared, in one prompt
_SHARE = 10  # and of what is left of the budget at most one part in so many
_FITS = 0.5  # cosine and share of the question's words, together


def begin(services: Services, run_id: str, task: str, plan: Plan) -> None:
    """A run is planned: if it has several subtasks, they get a board; a new plan goes on with the one there is."""
    hand = services.in_hand(run_id)
    if hand.board is None and services.settings.memory.board and len(plan.subtasks) > 1:
        hand.board = Board(task, Gate(services.store), seed=services.settings.router.seed)


def read(
    hand: RunInHand,
    key: str,
    question: str,
    needs: Sequence[str] = (),
    *,
    known: Sequence[str] = (),
    fresh: bool = False,
) -> list[tuple[str, str]]:
    """What others of a run shared that fits a subtask's question: (source, text) for its prompt.

    Args:
        hand: of the run.
        key: of the subtask, ``p0.s2``.
        question: what it is asked.
        needs: keys of the subtasks whose answers it has anyway.
        known: answers that it has from an earlier plan.
        fresh: only what came since it last read.
    """
    if hand.board is None:
        return []
    left = hand.account.remaining().tokens if hand.limited else None
    room = TOKENS if left is None else min(TOKENS, left // _SHARE)
    found = hand.board.read(question, by=key, least=_FITS, without=needs, budget_tokens=max(0, room), fresh=fresh)
    shown: list[tuple[str, str]] = []
    for item in found:
        if any(answer and item.text.endswith(answer) for answer in known):
            continue
        source = f"shared:{item.by}"
        fenced = item.trust in UNTRUSTED
        shown.append(
            (source, quoting.piece(Item(source, "", 0.0, "", item.trust), item.text) if fenced else item.text)
        )
    return shown


def offer(services: Services, run_id: str, key: str, question: str, answer: str) -> bool:
    """A subtask has an answer: offer it to the others; whether the gate let it through."""
    board = services.in_hand(run_id).board
    if board is None or not answer.strip():
        return False
    return board.offer(f"{question.strip()} {answer.strip()}", by=key, trust=written_trust(services.store, run_id))


def settle(hand: RunInHand, tried: Try) -> None:
    """A try was checked: what it used earns credit, and if it failed, what it offered is taken back."""
    if hand.board is None:
        return
    if tried["status"] == "ok":
        said = " ".join([tried["text"], *(str(arguments) for _, arguments, _ in tried["calls"])])
        hand.board.finished(tried["key"], 1.0, asked=tried["question"], said=said)
    else:
        hand.board.withdraw(tried["key"])


def end(hand: RunInHand) -> None:
    """The run has ended: the gate learns from what was of use."""
    if hand.board is not None:
        hand.board.close()
        hand.board = None

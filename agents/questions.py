"""Answers to what a run asks a person."""

from collections.abc import Mapping, Sequence

from pointwork.agents.result import Question
from pointwork.errors import UsageError


def answers_to(asked: Sequence[Question], answer: str | Mapping[str, str], run_id: str) -> dict[str, str]:
    """Answers by question id, checked; questions that are not answered go on waiting.

    Raises:
        UsageError: nothing is asked, or an answer fits none of the questions.
    """
    if not asked:
        raise UsageError(f"run {run_id} does not wait for an answer")
    given = dict.fromkeys([question.id for question in asked], answer) if isinstance(answer, str) else dict(answer)
    known = {question.id: question for question in asked}
    for question_id, said in given.items():
        if question_id not in known:
            raise UsageError(f"run {run_id} asks no question {question_id!r}; it asks {', '.join(known)}")
        if said not in known[question_id].answers:
            allowed = " or ".join(known[question_id].answers)
            raise UsageError(f"{said!r} is no answer to: {known[question_id].question} Say {allowed}.")
    return given

"""``pointwork chat``: turns of one thread, its commands, budgets, and how it ends."""

import io
import json
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from pointwork.agents import Team, team
from pointwork.agents.background import BackgroundLoop
from pointwork.cli import output
from pointwork.cli.app import run_app
from pointwork.errors import ProviderError
from pointwork.models import ChatRequest, Price, ScriptedClient, Step


class Terminal:
    """A keyboard: what is typed, and the keys Ctrl-C (KeyboardInterrupt) and Ctrl-D (the end)."""

    def __init__(self, *typed: Any) -> None:
        self._typed = list(typed)

    def isatty(self) -> bool:
        return True

    def input(self, _prompt: str = "") -> str:
        if not self._typed:
            raise EOFError
        said = self._typed.pop(0)
        if isinstance(said, BaseException):
            raise said
        return said

    def readline(self) -> str:
        """What the true ``input`` reads, which questions are asked with."""
        return f"{self.input()}\n"


@pytest.fixture
def chat(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Runs a chat over lines of a pipe or over a terminal: exit code, stdout, stderr."""
    monkeypatch.setattr(output.out, "_file", None)
    monkeypatch.setattr(output.err, "_file", None)
    (tmp_path / "empty").mkdir()

    def call(stdin: "str | Terminal", *arguments: str) -> tuple[int, str, str]:
        if isinstance(stdin, Terminal):
            monkeypatch.setattr("sys.stdin", stdin)
            monkeypatch.setattr("builtins.input", stdin.input)
        else:
            monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        code = run_app(["chat", "--root", str(tmp_path / "empty"), *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes the team talk to a script instead of a model."""

    def use(*steps: Any, **options: Any) -> ScriptedClient:
        client = ScriptedClient(list(steps), **options)
        plain = Team.default.__func__  # pyright: ignore[reportFunctionMemberAccess]

        def default(cls: type[Team], **given: Any) -> Team:
            return plain(cls, **given, models={"worker-small": client})

        def no_weights(file: object = None, *, quiet: bool = False) -> str:
            return ""

        monkeypatch.setattr(Team, "default", classmethod(default))
        monkeypatch.setattr("pointwork.cli.team.pull_weights", no_weights)
        return client

    return use


def answers(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def last(request: ChatRequest) -> str:
    return request.messages[-1]["content"]


def says(text: str, about: str) -> Step:
    """What the agent answers to a task, in whatever form it is asked for."""

    def reply(request: ChatRequest) -> str:
        if request.schema is None:
            return text
        call = {"call": {"tool": "answer", "arguments": {"text": text}}}
        return json.dumps(call if "call" in request.schema["properties"] else {"answer": text})

    def test(request: ChatRequest) -> bool:
        return any(f"Task: {about}" in message["content"] for message in request.messages)

    return Step(reply, match=test, times=None)


def test_each_line_of_a_pipe_is_a_run_of_the_thread(chat: Any, scripted: Any) -> None:
    scripted()
    code, out, err = chat("What is 2 * 3?\n\nWhat is 2 * 4?\n/cost\n", "--thread", "sums")
    assert code == 0
    assert "\n6\n" in out
    assert "\n8\n" in out
    assert "2 turns" in out
    assert "pointwork chat --thread sums" in err
    code, out, err = chat("/runs\nWhat is 2 * 5?", "--thread", "sums")
    assert "2 earlier turns" in err
    assert "What is 2 * 3?" in out
    assert "\n10\n" in out


def test_json_is_one_object_a_line_and_nothing_else(chat: Any, scripted: Any) -> None:
    scripted()
    code, out, err = chat("What is 2 * 3?\n/cost\n/runs\n/fly\n", "--json")
    assert (code, err) == (0, "")
    turn, cost, runs, wrong = answers(out)
    assert (turn["text"], turn["status"]) == ("6", "ok")
    assert cost["cost"]["turns"] == 1
    assert [row["run_id"] for row in runs["runs"]] == [turn["run_id"]]
    assert "/fly" in wrong["error"]


def test_a_follow_up_is_made_to_stand_alone_by_the_rule(chat: Any, scripted: Any) -> None:
    client = scripted()
    code, out, _ = chat("What is 17% of 2340?\nand of 100?\nand of 50?\n")
    assert code == 0
    assert "understood as: What is 17% of 100?" in out
    assert "\n17\n" in out
    assert "understood as: What is 17% of 50?" in out
    assert "\n8.5\n" in out
    assert client.requests == []


def test_a_follow_up_that_only_a_model_understands(chat: Any, scripted: Any) -> None:
    rewritten = json.dumps({"question": "Write a poem about Ilse Brandt of the north."})
    client = scripted(
        says("Ilse Brandt of the north", "Write a name"),
        Step(rewritten, match=lambda r: "Last: Write a poem about her" in last(r)),
        says("She painted.", "Write a poem about Ilse Brandt"),
    )
    _, out, _ = chat("Write a name\nWrite a poem about her\n")
    assert "understood as: Write a poem about Ilse Brandt of the north." in out
    asked = next(request for request in client.requests if "Last:" in last(request))
    assert "Before: Write a name Ilse Brandt of the north" in last(asked)


@pytest.mark.parametrize("said", ['{"question": "Who killed 7 kings?"}', "no JSON", ProviderError("it is away")])
def test_what_a_model_makes_up_is_not_taken_and_the_last_turns_are_facts(
    chat: Any, scripted: Any, said: Any
) -> None:
    client = scripted(
        says("Ilse Brandt", "Write a name"),
        Step(said, match=lambda r: "Last:" in last(r), times=None),
        says("She painted.", "Write a poem about her"),
    )
    code, out, _ = chat("Write a name\nWrite a poem about her\n")
    assert code == 0
    assert "understood as" not in out
    assert any("Write a name Ilse Brandt\n" in message["content"] for message in client.requests[-1].messages)


def test_a_question_of_its_own_is_not_burdened_with_the_turns_before(chat: Any, scripted: Any) -> None:
    client = scripted(
        says("Ilse Brandt", "Write a name"),
        says("Roses.", "Write a poem on roses"),
    )
    chat("Write a name\nWrite a poem on roses\n")
    assert not any("Brandt" in message["content"] for message in client.requests[-1].messages)
    assert not any("Last:" in last(request) for request in client.requests)


def test_another_thread_knows_nothing_of_this_one(chat: Any, scripted: Any) -> None:
    scripted(says("Roses.", "and of 100?"))
    chat("What is 17% of 2340?\n", "--thread", "one")
    _, out, _ = chat("and of 100?\n", "--thread", "two")
    assert "understood as" not in out


def test_a_budget_for_the_conversation_ends_it(chat: Any, scripted: Any) -> None:
    scripted(says("Roses are red.", "Write"), price=Price(1.0, 1.0))
    lines = "".join(f"Write poem {number}\n" for number in range(20))
    code, out, _ = chat(lines, "--total-tokens", "120", "--json")
    turns = answers(out)
    assert code == 3
    assert 1 < len(turns) < 20
    assert turns[-1]["status"] == "budget_exhausted"
    assert sum(turn["cost"]["tokens"] for turn in turns) <= 120


def test_a_budget_for_each_turn_is_no_budget_for_all(chat: Any, scripted: Any) -> None:
    scripted(says("Roses are red.", "Write"))
    code, out, _ = chat("Write a poem\nWhat is 2 * 3?\n", "--budget-tokens", "1", "--json")
    assert code == 3
    assert [turn["status"] for turn in answers(out)] == ["budget_exhausted", "ok"]


def test_nothing_to_spend_from_the_start(chat: Any, scripted: Any) -> None:
    scripted()
    code, out, err = chat("What is 2 * 3?\n", "--total-usd", "0")
    assert (code, out) == (3, "")
    assert "budget is spent" in err


def test_a_turn_that_fails_does_not_end_it(chat: Any, scripted: Any) -> None:
    scripted(Step(ProviderError("the server is away"), times=None))
    code, out, _ = chat("Write a poem\nWhat is 2 * 3?\n")
    assert code == 1
    assert "the server is away" in out
    assert "\n6\n" in out


def test_a_line_that_can_not_be_run_is_said_and_the_next_one_runs(chat: Any, scripted: Any) -> None:
    scripted()
    code, out, err = chat("x" * 30_000 + "\nWhat is 2 * 3?\n")
    assert code == 2
    assert "30,000 characters" in err
    assert "\n6\n" in out


def test_bytes_that_are_no_text(chat: Any, scripted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"What is \xff?\n"), encoding="utf-8"))
    assert run_app(["chat"]) == 2


def test_a_terminal_has_commands_and_leaves_with_ctrl_d(chat: Any, scripted: Any) -> None:
    scripted()
    keyboard = Terminal("/help", KeyboardInterrupt(), "What is 2 * 3?", "/nonsense", "/cost")
    code, out, err = chat(keyboard)
    assert code == 0
    assert "/quit" in out
    assert "\n6\n" in out
    assert "there is no command /nonsense" in out
    assert "1 turn," in out
    assert "Ctrl-D to leave" in err


def test_quit_leaves_at_once(chat: Any, scripted: Any) -> None:
    scripted()
    code, out, _ = chat(Terminal("/quit", "What is 2 * 3?"))
    assert code == 0
    assert "6" not in out.split()


def test_a_line_may_begin_with_a_slash(chat: Any, scripted: Any) -> None:
    scripted(says("a file of users", "/etc/passwd: explain it"))
    _, out, _ = chat("/etc/passwd: explain it\n", "--json")
    assert answers(out)[0]["text"] == "a file of users"


def interrupted(_: ChatRequest) -> str:
    """Ctrl-C while the model is at work."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    time.sleep(0.3)
    return "Roses"


def test_ctrl_c_stops_the_turn_and_stays(chat: Any, scripted: Any) -> None:
    scripted(Step(interrupted, match="poem"), says("Roses", "Write a poem"))
    code, out, err = chat(Terminal("Write a poem", "What is 2 * 3?", "/runs"))
    assert code == 0
    assert "pointwork runs resume" in err
    assert "\n6\n" in out
    statuses = [line.split()[1] for line in out.splitlines() if line.endswith(("poem", "2 * 3?")) and "ago" in line]
    assert statuses == ["interrupted", "ok"]


def test_ctrl_c_before_a_run_has_begun(chat: Any, scripted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the first run's libraries are loaded."""
    scripted()
    load = team.load_graphs
    drop = BackgroundLoop.dropping
    stopped = threading.Event()

    def loading() -> Any:
        if not stopped.is_set():
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            stopped.wait(60)
        return load()

    def dropping(*given: Any) -> Any:
        dropped = drop(*given)
        stopped.set()
        return dropped

    monkeypatch.setattr(team, "load_graphs", loading)
    monkeypatch.setattr(BackgroundLoop, "dropping", dropping)
    code, out, err = chat(Terminal("What is 2 * 3?", "/runs", "What is 2 * 4?"))
    assert code == 0
    assert "stopped" in err
    assert "runs resume" not in err
    assert "nothing was said yet" in out
    assert "\n8\n" in out


def test_ctrl_c_ends_a_chat_over_a_pipe(chat: Any, scripted: Any) -> None:
    scripted(Step(interrupted, match="poem"), says("Roses", "Write a poem"))
    code, out, err = chat("Write a poem\nWhat is 2 * 3?\n")
    assert code == 130
    assert "pointwork runs resume" in err
    assert "\n6\n" not in out


STAMPER = '''
from pointwork import Agent, tool


@tool(labels=["writes"], needs_approval=True)
def stamp(name: str) -> str:
    """Stamp a name."""
    return f"stamped {name}"


AGENTS = [Agent("stamper", "You stamp names.", {"stamping": "stamp names"}, (stamp,), modes=("instant",))]
'''


@pytest.fixture
def stamping(scripted: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that asks before it stamps; a token costs a thousandth of a dollar."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stamper_of_the_chat.py").write_text(STAMPER)
    (tmp_path / "pointwork.toml").write_text('agents_from = "stamper_of_the_chat:AGENTS"\n')
    stamp = Step(json.dumps({"tool": "stamp", "arguments": {"name": "Ada"}}), times=None)
    scripted(stamp, price=Price(1000.0, 1000.0))


@pytest.mark.usefixtures("stamping")
def test_ctrl_c_at_a_question_leaves_it_open_and_stays(chat: Any) -> None:
    code, out, err = chat(Terminal("Stamp the name Ada", KeyboardInterrupt(), "/runs", "/cost", "/quit"))
    assert code == 0
    assert "it goes on waiting" in err
    assert "  waiting  " in out
    assert "1 turn, $0.0" in out  # what it has cost so far counts
    assert "1 turn, $0," not in out


@pytest.mark.usefixtures("stamping")
def test_ctrl_c_after_an_answer_stops_the_turn_and_stays(chat: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    resumed = Team.stream_resume

    def interrupted_resume(*given: Any) -> Any:
        for event in resumed(*given):
            yield event
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Team, "stream_resume", interrupted_resume)
    code, out, err = chat(Terminal("Stamp the name Ada", "approve", "What is 2 * 3?", "/quit"))
    assert code == 0
    assert "pointwork runs resume" in err
    assert "\n6\n" in out


@pytest.mark.parametrize("arguments", [("--thread", " "), ("--total-usd", "-1"), ("--budget-tokens", "many")])
def test_wrong_options_are_exit_code_2(chat: Any, scripted: Any, arguments: tuple[str, ...]) -> None:
    scripted()
    assert chat("What is 2 * 3?\n", *arguments)[0] == 2

"""Logs of other programs become runs: tau-bench, chats in OpenAI's form; pass^k over them."""

import io
import itertools
import json
import os
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from pointwork.agents import Result
from pointwork.agents.runs import credited_decisions, list_runs
from pointwork.errors import UsageError
from pointwork.portable import export_runs, import_runs, messages_of, pass_hat_k, passing, trials
from pointwork.store import Store, tables

Row = dict[str, Any]


def call(name: str, arguments: Any, id_: str = "c1") -> Row:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


CHAT: list[Row] = [
    {"role": "system", "content": "You help."},
    {"role": "user", "content": "Cancel order 7."},
    {"role": "assistant", "content": None, "tool_calls": [call("find", '{"order": 7}')], "function_call": None},
    {"role": "tool", "tool_call_id": "c1", "name": "find", "content": "Error: no such order"},
    {"role": "assistant", "content": "Again.", "tool_calls": [call("find", "{order: 7"), call("ask", {}, "c2")]},
    {"role": "tool", "tool_call_id": "c1", "name": "find", "content": "found"},
    {"role": "assistant", "content": "Cancelled."},
    {"role": "user", "content": "###STOP###"},
]


def tau(task: int = 0, trial: int = 0, reward: float = 1.0, **more: Any) -> Row:
    info = {"task": {"instruction": f"You want order {task} cancelled."}, "user_cost": 0.01}
    return {"task_id": task, "reward": reward, "info": info, "traj": CHAT, "trial": trial, **more}


def load(store: Store, *records: Row, format: str, lines: bool = True, **more: Any) -> Any:
    text = "\n".join(json.dumps(record) for record in records) if lines else json.dumps(records, indent=1)
    return import_runs(store, io.BytesIO(text.encode()), format=format, **more)


def test_a_trajectory_of_tau_bench_becomes_a_run(store: Store) -> None:
    load(store, tau(3, 1, 0.0), format="tau-bench", lines=False, model="gpt", dataset="air")
    [run] = store.rows(select(tables.runs))
    assert (run["task"], run["status"]) == ("You want order 3 cancelled.", "failed")
    result = Result.from_json(run["result"])
    assert (result.text, result.status, result.run_id) == ("Cancelled.", "failed", run["id"])
    assert list_runs(store)[0]["run_id"] == run["id"]

    rows = store.rows(select(tables.steps).order_by(tables.steps.c.id))
    assert [row["kind"] for row in rows] == ["note", "model", "model", "model", "note"]
    assert rows[0]["input"]["import"]["info"]["user_cost"] == 0.01
    assert [message["role"] for message in rows[1]["input"]["messages"]] == ["system", "user"]
    plain = [{key: item for key, item in message.items() if key != "function_call"} for message in CHAT]
    shown = list(messages_of(rows))
    assert [prompt for prompt, _ in shown] == [plain[:2], plain[:4], plain[:6]]
    assert [answer for _, answer in shown] == [plain[2], plain[4], plain[6]]

    calls = store.rows(select(tables.tool_calls).order_by(tables.tool_calls.c.started))
    assert [(row["tool"], row["arguments"], row["status"], row["error"]) for row in calls] == [
        ("find", {"order": 7}, "failed", "Error: no such order"),
        ("find", "{order: 7", "done", None),  # as the model wrote it
        ("ask", {}, "intent", None),  # nobody answered
    ]
    assert calls[1]["result"]["text"] == "found"

    [decision] = store.rows(select(tables.decisions))
    assert (decision["router"], decision["arm"], decision["propensity"]) == ("import:tau-bench", "gpt", 1.0)
    assert credited_decisions(store, run["id"]) == [decision["id"]]
    [outcome] = store.rows(select(tables.outcomes))
    assert (outcome["decision_id"], outcome["quality"]) == (decision["id"], 0.0)
    [trial] = trials(store)
    assert (trial.dataset, trial.task, trial.trial, trial.arm, trial.reward) == ("air", "3", 1, "gpt", 0.0)


def test_importing_a_foreign_log_twice_changes_nothing(store: Store) -> None:
    records = [tau(task, trial) for task in range(2) for trial in range(2)]
    assert load(store, *records, format="tau-bench", dataset="air").imported == 4
    lines = list(export_runs(store))
    again = load(store, *records, tau(5), format="tau-bench", lines=False, dataset="air")
    assert (again.imported, again.unchanged, again.differing) == (1, 4, 0)
    assert list(export_runs(store))[:4] == lines
    # the same words from another model are another run
    assert load(store, *records, format="tau-bench", dataset="air", model="other").imported == 4


def test_what_is_imported_comes_back_equal_from_another_store(store: Store) -> None:
    load(store, tau(), tau(1), format="tau-bench")
    lines = b"".join(export_runs(store))
    other = Store("sqlite://")
    import_runs(other, io.BytesIO(lines))
    assert b"".join(export_runs(other)) == lines
    assert trials(other) == trials(store)


def test_chats_become_runs(store: Store) -> None:
    chats: list[Row] = [
        {"messages": CHAT, "reward": 0.75, "model": "m1", "created": 50.5, "tools": [{"name": "find"}]},
        {"messages": CHAT, "metadata": {"task_id": "t9", "trial": 4, "model": "m2", "score": True}},
        {"messages": CHAT},
        {"messages": CHAT},  # two trials that went alike are two runs
        {
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "image_url"}]},
                {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
                {"role": "function", "name": "f", "content": "done"},
                {"role": "assistant", "content": [{"type": "text", "text": "Hello"}], "reasoning_content": "…"},
            ]
        },
    ]
    assert load(store, *chats, format="openai-chat", dataset="d").imported == 5
    assert load(store, *chats, format="openai-chat", dataset="d").unchanged == 5
    found = {trial.run_id: trial for trial in trials(store)}
    assert sorted((t.arm, t.trial, t.reward) for t in found.values() if t.reward is not None) == [
        ("m1", 0, 0.75),
        ("m2", 4, 1.0),
    ]
    alike = [t for t in found.values() if t.arm == "d" and t.trial]
    assert [t.trial for t in alike] == [1, 2]
    rows = store.rows(select(tables.runs).order_by(tables.runs.c.created))
    assert rows[0]["created"] == 50.5
    assert rows[-1]["result"]["text"] == "Hello"
    steps = store.rows(select(tables.steps).where(tables.steps.c.run_id == rows[-1]["id"]))
    (_, first), (prompt, last) = messages_of(steps)
    assert (first["content"], first["function_call"]["name"], prompt[-1]["content"]) == (None, "f", "done")
    assert (last["content"], last["reasoning_content"]) == (chats[4]["messages"][3]["content"], "…")
    calls = store.rows(select(tables.tool_calls).where(tables.tool_calls.c.run_id == rows[-1]["id"]))
    assert [(row["tool"], row["status"]) for row in calls] == [("f", "done")]
    note = store.rows(select(tables.steps).where(tables.steps.c.run_id == rows[0]["id"]))[0]
    assert note["input"]["import"] == {"format": "openai-chat", "tools": [{"name": "find"}]}


ANSWER = {"role": "assistant", "content": "x"}


NO_CHATS: list[tuple[str, Any, str]] = [
    ("tau-bench", {}, "task_id is missing"),
    ("tau-bench", tau(reward=1.5), "reward must be from 0 to 1, not 1.5: scale it"),
    ("tau-bench", tau(reward="1"), "reward must be a number"),  # pyright: ignore[reportArgumentType]
    ("tau-bench", tau(traj=None), "traj is missing"),
    ("tau-bench", tau(traj=[CHAT[0]]), "traj has no message of the assistant"),
    ("tau-bench", tau(task_id=1.5), "task_id must be a whole number or a text"),
    ("tau-bench", tau(trial="1"), "trial must be a whole number, not a text"),  # pyright: ignore[reportArgumentType]
    ("tau-bench", tau(info=[3]), "info must be an object"),
    ("tau-bench", [], "must be an object, not a list|is empty"),
    ("openai-chat", {"a": 1}, "messages is missing"),
    ("openai-chat", {"messages": {}}, "messages must be a list"),
    ("openai-chat", {"messages": ["hi"]}, r"messages\[0\] must be an object, not a text"),
    ("openai-chat", {"messages": [{"role": "robot"}]}, r"messages\[0\].role must be one of system"),
    ("openai-chat", {"messages": [{**ANSWER, "content": 5}]}, r"messages\[0\].content must be a text"),
    ("openai-chat", {"messages": [{**ANSWER, "tool_calls": {"a": 1}}]}, "tool_calls must be a list"),
    ("openai-chat", {"messages": [{**ANSWER, "tool_calls": [{}]}]}, r"tool_calls\[0\].function is missing"),
    ("openai-chat", {"messages": [{**ANSWER, "tool_calls": [call("f", 3)]}]}, "function.arguments must be"),
    ("openai-chat", {"messages": [{**ANSWER, "function_call": {}}]}, "function_call.name must be a text"),
    ("openai-chat", {"messages": [ANSWER], "reward": -1}, "reward must be from 0 to 1"),
    ("openai-chat", {"messages": [ANSWER], "metadata": {"score": "good"}}, "metadata.score must be a number"),
    ("openai-chat", {"messages": [ANSWER], "metadata": {"trial": "one"}}, "metadata.trial must be a whole"),
    ("openai-chat", {"messages": [ANSWER], "created": -1}, "created must be seconds since 1970"),
    ("openai-chat", {"messages": [ANSWER], "created": 1769817600000}, "created must be seconds since 1970"),
    ("openai-chat", {"messages": [ANSWER], "model": " "}, "model is a text without a letter"),
    ("openai-chat", {"messages": [ANSWER], "model": 5}, "model must be a text"),
    ("openai-chat", {"messages": [ANSWER], "model": "m" * 300}, "at most 256"),
]


@pytest.mark.parametrize(("format", "record", "why"), NO_CHATS)
def test_records_that_are_no_chats(store: Store, format: str, record: Any, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        load(store, record, format=format)
    assert store.rows(select(tables.runs)) == []
    if record:
        assert load(
            store, record, tau() if "tau" in format else {"messages": CHAT}, format=format, skip_broken=True
        ).broken


def test_a_log_that_is_cut_off_is_refused_whole(store: Store) -> None:
    text = json.dumps([tau(0), tau(1)], indent=2)
    with pytest.raises(UsageError, match=r"the array: not JSON: .* at line \d+ column \d+ \(was the file cut off"):
        import_runs(store, io.BytesIO(text[:-40].encode()), format="tau-bench")
    with pytest.raises(UsageError, match="nothing to import"):
        import_runs(store, io.BytesIO(b"[]"), format="tau-bench")
    with pytest.raises(UsageError, match="is empty"):
        import_runs(store, io.BytesIO(b""), format="tau-bench")
    assert store.rows(select(tables.runs)) == []


def test_pass_hat_k_is_the_share_of_choices_of_k_trials_that_all_succeed() -> None:
    tasks = [[1.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0]]
    for k in (1, 2, 3, 4):
        chosen = [list(itertools.combinations(task, k)) for task in tasks]
        expected = sum(sum(all(choice) for choice in some) / len(some) for some in chosen) / len(tasks)
        assert pass_hat_k(tasks, k) == pytest.approx(expected)
    assert pass_hat_k([[0.9999999, 0.5]], 1) == 0.5
    assert pass_hat_k([[0.9999999, 0.5]], 2, success=0.5) == 1.0
    for wrong, k in ((tasks, 5), (tasks, 0), ([], 1)):
        with pytest.raises(UsageError, match="pass"):
            pass_hat_k(wrong, k)


def test_passing_is_told_per_dataset_and_model(store: Store) -> None:
    load(store, tau(0, 0, 1.0), tau(0, 1, 0.0), tau(1, 0, 1.0), format="tau-bench", dataset="a", model="m")
    load(store, {"messages": CHAT}, format="openai-chat", dataset="b")
    one, two = passing(store)
    assert (one.dataset, one.arm, one.tasks, one.trials, one.pass_hat) == ("a", "m", 2, 3, {1: 0.75})
    assert (two.unrewarded, two.mean_reward, two.pass_hat) == (1, None, {})
    # a reward that is corrected later counts
    late = next(trial for trial in trials(store) if trial.reward == 0.0)
    decision = store.row(select(tables.decisions.c.id).where(tables.decisions.c.run_id == late.run_id))
    assert decision is not None
    row = {"decision_id": decision["id"], "created": 9.0, "quality": 1.0, "source": "feedback"}
    store.append(tables.outcomes, row)
    assert passing(store)[0].pass_hat == {1: 1.0}


def _bench_data() -> Path:
    folder = os.environ.get("POINTWORK_BENCH_DATA")
    if not folder:
        pytest.skip("POINTWORK_BENCH_DATA names no folder with the benchmarks' data")
    path = Path(folder) / "tau_bench"
    if not path.is_dir():
        pytest.skip(f"there is no tau_bench in POINTWORK_BENCH_DATA ({folder})")
    return path


def test_the_airline_log_gives_the_published_figures(store: Store) -> None:
    path = _bench_data() / "gpt-4o-airline.json"
    assert import_runs(store, path, format="tau-bench", model="gpt-4o").imported == 200
    [found] = passing(store)
    assert (found.tasks, found.trials) == (50, 200)
    assert {k: round(found.pass_hat[k], 3) for k in (1, 2, 4)} == {1: 0.420, 2: 0.273, 4: 0.200}
    groups: dict[str, list[float | None]] = {}
    for trial in trials(store):
        groups.setdefault(trial.task, []).append(trial.reward)
    assert sum(len(set(rewards)) > 1 for rewards in groups.values()) == 26
    assert {len(rewards) for rewards in groups.values()} == {4}
    # every message is there, in its order
    records = {(str(r["task_id"]), r["trial"]): r["traj"] for r in json.loads(path.read_text())}
    for trial in trials(store)[::20]:
        steps = store.rows(
            select(tables.steps).where(tables.steps.c.run_id == trial.run_id).order_by(tables.steps.c.id)
        )
        *_, (prompt, answer) = messages_of(steps)
        rest: list[Row] = steps[-1]["input"]["messages"] if steps[-1]["kind"] == "note" else []
        assert [*prompt, answer, *rest] == records[trial.task, trial.trial]
    lines = b"".join(export_runs(store))
    other = Store("sqlite://")
    import_runs(other, io.BytesIO(lines))
    assert b"".join(export_runs(other)) == lines


def test_the_retail_log_is_imported_whole(store: Store) -> None:
    [path] = _bench_data().glob("grok-3*.json")
    assert import_runs(store, path, format="tau-bench", model="grok-3", dataset="retail").imported == 115
    [found] = passing(store, success=0.5)
    assert (found.tasks, found.trials, round(found.pass_hat[1], 3)) == (115, 115, 0.678)

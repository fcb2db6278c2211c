"""From the store to groups: who belongs together, what is trained, and that nothing is dropped in silence."""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointwork.models.gateway import Caller, Models
from pointwork.models.protocol import ChatRequest, Completion, Message, Price
from pointwork.portable import export_runs, import_runs, write_lines
from pointwork.settings import Settings, TrainingSettings
from pointwork.store import Store, tables
from pointwork.training.data import collect, distinct, mark


class Words:
    """A model whose tokens are the words of a text, numbered by their length."""

    schema_in_prompt = False
    gives_tokens = True
    name, price, context_tokens = "words", Price(), 4096

    def __init__(self, text: str = "a bb ccc", tokens: bool = True) -> None:
        self.text, self.tokens = text, tokens
        self.asked: list[ChatRequest] = []

    def count_tokens(self, messages: Sequence[Message]) -> int:
        return len(ids(messages))

    async def chat(self, request: ChatRequest) -> Completion:
        self.asked.append(request)
        written = tuple(len(word) for word in self.text.split())
        known = request.logprobs and self.tokens
        return Completion(
            text=self.text,
            prompt_tokens=len(ids(request.messages)),
            completion_tokens=len(written),
            finish="stop",
            model="words",
            version="v1",
            token_ids=written if known else None,
            logprobs=tuple(-0.5 for _ in written) if known else None,
            prompt_ids=ids(request.messages) if known else None,
        )

    async def aclose(self) -> None:
        pass

    # the trainer's tokenizer
    def prompt(self, messages: Sequence[Mapping[str, Any]]) -> tuple[int, ...]:
        return ids(messages)

    def completion(self, text: str) -> tuple[int, ...]:
        return tuple(len(word) for word in text.split())


def ids(messages: Sequence[Mapping[str, Any]]) -> tuple[int, ...]:
    return tuple(len(word) for message in messages for word in str(message["content"]).split())


class World:
    """Runs with model calls, made through the gateway as a team makes them."""

    def __init__(self, store: Store, model: Words | None = None, **training: Any) -> None:
        from pointwork.ledger import Ledger

        self.store, self.model = store, model or Words()
        settings = Settings(training=TrainingSettings(**training))
        self.models = Models(settings, store, {"worker-small": self.model})
        self.ledger = Ledger(store)

    def run(
        self,
        task: str,
        *,
        root: str | None = None,
        status: str = "ok",
        prompts: Sequence[str] = ("one two",),
        seed: int | None = None,
    ) -> str:
        import asyncio

        from pointwork.store import new_id

        run_id = new_id()
        row = {"id": run_id, "task": task, "root": root, "status": status, "created": time.time()}
        with self.store.write() as connection:
            connection.execute(tables.runs.insert().values(**row, package_version="test"))
        caller = Caller(self.ledger.open(run_id), "agent:x", run_id, "p0.s1#1", "x")
        for prompt in prompts:
            request = ChatRequest([Message(role="user", content=prompt)], max_tokens=32, seed=seed)
            asyncio.run(self.models.chat("worker-small", request, caller))
        return run_id


def reasons(dropped: Mapping[str, int]) -> dict[str, int]:
    return {key.partition(":")[0].partition(" (")[0]: count for key, count in dropped.items()}


def test_tokens_and_logprobs_are_kept_as_the_server_gave_them(store: Store) -> None:
    world = World(store)
    run = world.run("t", seed=3)
    mark(store, run, "t", checked=True)
    data = collect(store)
    (turn,) = data.groups[0].rollouts[0].turns
    assert (turn.prompt_ids, turn.completion_ids, turn.logprobs) == ((3, 3), (1, 2, 3), (-0.5,) * 3)
    assert (turn.role, turn.agent, turn.version) == ("worker-small", "x", "v1")
    assert (world.model.asked[0].temperature, world.model.asked[0].seed) == (0, 3)
    assert data.report.greedy == 1


def test_a_temperature_for_training_is_every_calls(store: Store) -> None:
    world = World(store, temperature=1.0)
    mark(store, world.run("t", seed=3), "t", checked=True)
    assert (world.model.asked[0].temperature, world.model.asked[0].seed) == (1.0, None)  # another in each trial
    assert collect(store).report.greedy == 0


def test_tokens_are_not_asked_for_where_nobody_wants_them(store: Store) -> None:
    world = World(store, keep_tokens=False)
    mark(store, world.run("t"), "t", checked=True)
    assert not world.model.asked[0].logprobs
    report = collect(store).report
    assert dict(report.dropped_turns) == {"no token ids from the server": 1}
    assert report.without_turns == 1


def test_the_trainers_tokenizer_speaks_for_a_server_that_says_nothing(store: Store) -> None:
    world = World(store, Words(tokens=False))
    mark(store, world.run("t"), "t", checked=True)
    data = collect(store, tokenizer=world.model)
    (turn,) = data.groups[0].rollouts[0].turns
    assert (turn.prompt_ids, turn.completion_ids, turn.logprobs) == ((3, 3), (1, 2, 3), None)
    assert (data.report.rendered, data.report.without_logprobs) == (1, 1)


def test_trials_of_a_task_are_a_group(store: Store) -> None:
    world = World(store)
    for text, root, right in (("t", None, True), ("u", None, True), ("t", None, False), ("t", "/elsewhere", True)):
        run = world.run(text, root=root)
        store.append(tables.steps, {"run_id": run, "kind": "note", "input": {"other": 1}, "started": 1.0})
        with store.write() as connection:
            decision = {"id": f"dec{run[:28]}", "run_id": run, "router": "team", "created": 1.0, "clock": 0}
            more = {"policy": "p", "policy_version": "", "features_version": "", "candidates": ["a"], "arm": "a"}
            drawn = {"propensity": 1.0, "propensities": {"a": 1.0}, "scores": {}, "context": {}}
            connection.execute(tables.decisions.insert().values(**decision, **more, **drawn))
            said = {"decision_id": decision["id"], "created": 1.0, "source": "feedback", "quality": float(right)}
            connection.execute(tables.outcomes.insert().values(**said))
    data = collect(store)
    assert [[rollout.reward for rollout in group.rollouts] for group in data.groups] == [[1, 0], [1], [1]]
    assert (data.report.mixed, data.report.constant, data.report.single) == (1, 0, 2)


def test_a_named_task_joins_what_differs_in_words(store: Store) -> None:
    world = World(store)
    for text in ("first words", "other words"):
        mark(store, world.run(text), "t7", checked=True)
    assert [len(group.rollouts) for group in collect(store).groups] == [2]


def test_what_is_dropped_is_said(store: Store) -> None:
    world = World(store)
    mark(store, world.run("t", status="running"), "t", checked=True)
    world.run("nobody said anything")
    mark(store, world.run("t"), "t", checked=False)
    for error in ("ProviderTimeout: slow", "ProviderError: m: the prompt has 9 tokens, its context holds 8"):
        run = world.run("t", status="failed")
        failed = {"run_id": run, "kind": "model", "role": "worker-small", "started": 1.0, "error": error}
        store.append(tables.steps, {**failed, "input": {"messages": []}})
        mark(store, run, "t", checked=False)
    report = collect(store).report
    assert reasons(report.dropped_runs) == {"not finished": 1, "no reward": 1, "the back end failed": 1}
    # a prompt that outgrew the context is the model's own doing: that run counts
    assert (report.runs, report.rollouts) == (5, 2)
    assert dict(report.dropped_turns) == {"the call failed": 1}


def test_only_the_roles_that_are_trained(store: Store) -> None:
    world = World(store)
    mark(store, world.run("t"), "t", checked=True)
    data = collect(store, roles=["planner"])
    assert data.groups[0].rollouts[0].turns == ()
    assert dict(data.report.dropped_turns) == {"of another role": 1}


def test_what_another_model_wrote_in_the_role_is_left_out(store: Store) -> None:
    """The role was served by an API, or by other weights, when the run was made: their tokens are not its own."""
    mine, other = World(store), World(store)
    other.model.name = "gpt-4o-mini"
    for world in (mine, other, other):
        mark(store, world.run("t"), "t", checked=world is mine)
    data = collect(store, models={"worker-small": {"words"}})
    (rollout,) = data.groups[0].rollouts
    assert (rollout.reward, len(rollout.turns)) == (1.0, 1)
    assert dict(data.report.dropped_turns) == {"of another model (gpt-4o-mini)": 2}
    assert dict(data.report.dropped_runs) == {"the work of another model": 2}
    # an adapter's versions over the same base are told apart by steps.model_version, and are all its own
    assert dict(data.report.versions) == {"v1": 1}
    for anyone in (None, {}, {"planner": {"words"}}, {"worker-small": frozenset[str]()}):
        assert collect(store, models=anyone).report.turns == {"worker-small": 3}


def test_a_run_of_several_models_keeps_what_is_the_roles_own(store: Store) -> None:
    world = World(store)
    run = world.run("t")
    row = {"run_id": run, "kind": "model", "role": "worker-small", "model": "old", "started": 1.0}
    store.append(tables.steps, {**row, "input": {"messages": []}, "output": {"text": "x", "finish": "stop"}})
    mark(store, run, "t", checked=True)
    report = collect(store, models={"worker-small": {"words"}}).report
    assert (report.rollouts, report.turns) == (1, {"worker-small": 1})
    assert dict(report.dropped_turns) == {"of another model (old)": 1}


def test_the_same_prompt_is_the_same_state(store: Store) -> None:
    world = World(store)
    for _ in range(2):
        mark(store, world.run("t", prompts=("one two", "one two three")), "t", checked=True)
    (group,) = collect(store).groups
    first, second = (tuple(turn.state for turn in rollout.turns) for rollout in group.rollouts)
    assert first == second
    assert len(set(first)) == 2


def test_an_exported_run_is_the_same_rollout(store: Store, tmp_path: Path) -> None:
    world = World(store)
    mark(store, world.run("t", prompts=("one two", "one two three")), "t", checked=True)
    store.flush()
    write_lines(str(tmp_path / "runs.jsonl"), export_runs(store))
    other = Store("sqlite://")
    import_runs(other, str(tmp_path / "runs.jsonl"))
    assert collect(other).groups == collect(store).groups


def test_a_judges_word_is_a_reward_and_no_turn(store: Store) -> None:
    world = World(store)
    for words in ((True, True), (True, False)):
        run = world.run("t")
        for number, correct in enumerate(words):
            judged = {"run_id": run, "kind": "model", "role": "judge", "subtask": f"p0.s{number}", "started": 1.0}
            said = {"text": json.dumps({"why": "", "correct": correct}), "finish": "stop"}
            store.append(tables.steps, {**judged, "input": {"messages": []}, "output": said})
    (group,) = collect(store).groups
    assert [rollout.reward for rollout in group.rollouts] == pytest.approx([0.9, 0.1])
    assert [len(rollout.turns) for rollout in group.rollouts] == [1, 1]


def test_tau_bench_trials_make_groups(store: Store, tmp_path: Path) -> None:
    def record(task: int, trial: int, reward: float) -> dict[str, Any]:
        call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": '{"x": 1}'}}
        said = [
            {"role": "user", "content": "my flight please"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "it is late"},
            {"role": "assistant", "content": "it is late"},
        ]
        return {"task_id": task, "trial": trial, "reward": reward, "traj": said, "info": {}}

    rows = [record(0, 0, 1.0), record(0, 1, 0.0), record(1, 0, 0.0), record(1, 1, 0.0)]
    (tmp_path / "log.json").write_text(json.dumps(rows))
    import_runs(store, str(tmp_path / "log.json"), format="tau-bench", model="m")
    without = collect(store)
    assert (without.report.groups, without.report.mixed, without.report.constant) == (2, 1, 1)
    assert dict(without.report.dropped_turns) == {"no token ids from the server": 8}
    # whose they are is said, by --imported-as or --role: their model is not asked for
    data = collect(store, tokenizer=Words(), imported_as="planner", models={"planner": {"words"}})
    turns = data.groups[0].rollouts[0].turns
    assert [turn.role for turn in turns] == ["planner", "planner"]
    assert len(turns[1].prompt_ids) > len(turns[0].prompt_ids)
    assert data.groups[0].rollouts[0].calls == 1


@given(st.lists(st.lists(st.integers(0, 2), max_size=6).map(tuple), max_size=8))
def test_what_prefixes_share_is_counted_once(sequences: list[tuple[int, ...]]) -> None:
    nodes = {sequence[:end] for sequence in sequences for end in range(1, len(sequence) + 1)}
    assert distinct(sequences) == len(nodes)

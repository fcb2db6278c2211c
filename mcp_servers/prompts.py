"""Prompts for common jobs, for clients that offer them to people."""

import re
from dataclasses import dataclass

import mcp_types as types


@dataclass(frozen=True)
class Job:
    """A prompt: ``{argument}`` stands for what a person fills in; arguments with a default may be left out."""

    name: str
    title: str
    about: str
    arguments: tuple[tuple[str, str, str | None], ...]  # name, description, default
    text: str


JOBS: tuple[Job, ...] = (
    Job(
        "ask_files",
        "Ask the files",
        "Answer a question from the documents in the folder.",
        (("question", "what you want to know", None),),
        "Use the tool 'team' with this task and give me its answer with the sources it names:\n"
        "Find in the files: {question}",
    ),
    Job(
        "ask_tables",
        "Ask the tables",
        "Count, sum or compare rows of the CSV, JSON and SQLite tables in the folder.",
        (("question", "what you want to know", None), ("table", "its name, if you know it", "")),
        "Use the tool 'team' with this task and give me its answer with the table it rests on:\n{question} {table}",
    ),
    Job(
        "compare",
        "Compare two things",
        "Look two things up and compare them.",
        (("first", "one thing", None), ("second", "the other", None), ("by", "in what respect", "what matters")),
        "Use the tool 'team' with this task:\nFind {first}. Find {second}. Compare them by {by}.",
    ),
    Job(
        "careful",
        "Within a budget",
        "Do a task for at most a certain sum; say what is missing if it does not suffice.",
        (("task", "what to do", None), ("usd", "most US dollars", "0.05")),
        "Use the tool 'team' with budget_usd={usd} and this task. If its status is not 'ok', tell me what is "
        "missing and ask whether to go on with 'resume':\n{task}",
    ),
    Job(
        "go_on",
        "Go on with a run",
        "Resume a run that was interrupted, by its id.",
        (("run_id", "of the run", None),),
        "Use the tool 'resume' with run_id={run_id} and give me its answer.",
    ),
)


def listed() -> list[types.Prompt]:
    """All prompts as MCP lists them."""
    return [
        types.Prompt(
            name=job.name,
            title=job.title,
            description=job.about,
            arguments=[
                types.PromptArgument(name=name, description=about, required=default is None)
                for name, about, default in job.arguments
            ],
        )
        for job in JOBS
    ]


def filled(name: str, arguments: dict[str, str]) -> types.GetPromptResult:
    """A prompt with its arguments filled in.

    Raises:
        KeyError: no such prompt.
        ValueError: an argument is missing or unknown.
    """
    job = {job.name: job for job in JOBS}[name]
    known = {argument for argument, _, _ in job.arguments}
    missing = [a for a, _, default in job.arguments if default is None and not arguments.get(a, "").strip()]
    if missing or set(arguments) - known:
        extra = sorted(set(arguments) - known)
        raise ValueError(f"prompt {name!r} takes {', '.join(sorted(known))}; missing: {missing}, unknown: {extra}")
    values = {a: arguments.get(a) or default or "" for a, _, default in job.arguments}
    # in one pass: what is filled in is not filled in again
    text = re.sub(r"\{(\w+)\}", lambda found: values[found[1]], job.text)
    said = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text.strip()))
    return types.GetPromptResult(description=job.about, messages=[said])

"""``pointwork memory``: add, recall, read, list, delete."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from pointwork.cli.output import money, out, print_json, table, tiers
from pointwork.errors import UsageError

app = typer.Typer(help="The team's memory: add, recall, read, list, delete.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _memory() -> Any:
    from pointwork.memory import Memory
    from pointwork.settings import load
    from pointwork.store import default_url, open_store

    return Memory(open_store(load().store or default_url()))


@app.command(epilog='Example: [bold]pointwork memory add "The gate opens at 7." --source note[/bold]')
def add(
    text: Annotated[str | None, typer.Argument(help="What to keep, verbatim; '-' reads standard input.")] = None,
    file: Annotated[Path | None, typer.Option(help="A text file to keep instead.")] = None,
    source: Annotated[str | None, typer.Option(help="Where it is from; default: the file's name or 'cli'.")] = None,
    title: Annotated[str | None, typer.Option(help="A title.")] = None,
    thread: Annotated[str | None, typer.Option(help="The conversation it belongs to.")] = None,
    trust: Annotated[str, typer.Option(help="Who wrote it: user, agent, tool or web.")] = "user",
    json: Json = False,
) -> None:
    """Keep a text; prints its id."""
    if (text is None) == (file is None):
        raise UsageError("give either a text or --file")
    if file is not None:
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"can not read {file} as UTF-8 text: {error}") from error
    elif text == "-":
        text = sys.stdin.read()
    item = _memory().add(
        text, source=source or (str(file) if file else "cli"), title=title, thread=thread, trust=trust
    )
    print_json({"id": item}) if json else out.print(item)


@app.command(epilog='Example: [bold]pointwork memory recall "When does the gate open?"[/bold]')
def recall(
    question: Annotated[str, typer.Argument(help="What to look for.")],
    k: Annotated[int, typer.Option(min=1, help="Most items.")] = 10,
    budget_tokens: Annotated[int, typer.Option(min=1, help="Most tokens of text.")] = 800,
    thread: Annotated[str | None, typer.Option(help="Prefer this conversation.")] = None,
    json: Json = False,
) -> None:
    """Recall what fits a question, best first."""
    found = _memory().recall(question, k=k, budget_tokens=budget_tokens, thread=thread)
    if json:
        print_json(
            {
                "items": [
                    {"id": i.id, "text": i.text, "score": i.score, "source": i.source, "trust": i.trust}
                    for i in found.items
                ],
                "tiers": dict(found.tiers),
                "cost": {"usd": found.cost.usd, "tokens": found.cost.tokens, "seconds": found.cost.seconds},
                "text": found.text,
            }
        )
        return
    table(
        ("score", "id", "source", "trust", "text"),
        [(f"{i.score:.2f}", i.id, i.source, i.trust, " ".join(i.text.split())[:90]) for i in found.items],
        "nothing fits",
    )
    out.print(f"[dim]tiers {tiers(found.tiers)} · {found.cost.tokens} tokens · {money(found.cost.usd)}[/dim]")


@app.command(epilog="Example: [bold]pointwork memory read 019a3f…[/bold]")
def read(item_id: Annotated[str, typer.Argument(help="Id of the item.")], json: Json = False) -> None:
    """Print the exact original of an item."""
    text = _memory().read(item_id)
    if json:
        print_json({"id": item_id, "text": text})
    else:
        sys.stdout.write(text)
        sys.stdout.write("\n" if not text.endswith("\n") else "")


@app.command("list", epilog="Example: [bold]pointwork memory list --limit 5[/bold]")
def list_(
    limit: Annotated[int, typer.Option(min=1, help="How many, newest first.")] = 20, json: Json = False
) -> None:
    """List items, newest first."""
    items = _memory().items(limit=limit)
    if json:
        print_json([{"id": i.id, "text": i.text, "source": i.source, "trust": i.trust} for i in items])
        return
    table(
        ("id", "source", "trust", "text"),
        [(i.id, i.source, i.trust, " ".join(i.text.split())[:90]) for i in items],
        "memory is empty",
    )


@app.command(epilog="Example: [bold]pointwork memory delete --source note[/bold]")
def delete(
    source: Annotated[str | None, typer.Option(help="Everything from this source.")] = None,
    item_id: Annotated[str | None, typer.Option("--id", help="This item.")] = None,
    json: Json = False,
) -> None:
    """Delete by source or id, completely."""
    if (source is None) == (item_id is None):
        raise UsageError("give either --source or --id")
    memory = _memory()
    count = memory.delete(source=source) if source is not None else memory.delete(id=item_id)
    if json:
        print_json({"deleted": count})
    else:
        out.print(f"deleted {count} item{'s' if count != 1 else ''} {escape(source or item_id or '')}".strip())

"""``pointwork memory``: add, recall, read, list, delete."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from pointwork.cli import experience
from pointwork.cli.output import err, money, out, print_exact, print_json, table, tiers
from pointwork.cli.team import own_store
from pointwork.errors import UsageError

app = typer.Typer(help="The team's memory: add, recall, read, list, delete.", no_args_is_help=True)
experience.attach(app)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
TierOption = Annotated[
    list[str] | None, typer.Option("--tier", help="MODULE=TIER, or one tier for all; several times.")
]


def _memory() -> Any:
    from pointwork.memory import Memory
    from pointwork.memory.reader import ClientReader
    from pointwork.settings import load

    settings = load()

    def model() -> Any:
        from pointwork.models.gateway import open_for

        return open_for(settings.model_for("memory"), None)

    tiers_ = settings.memory.tiers
    return Memory(own_store(settings), encoder=settings.encoder, tiers=tiers_, model=ClientReader(model))


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
            # not read_text, which changes line ends: it is kept verbatim, but for a mark of the byte order
            text = file.read_bytes().decode("utf-8-sig")
        except OSError as error:
            raise UsageError(f"can not read {file}: {error.strerror}") from error
        except UnicodeDecodeError as error:
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
    thrift: Annotated[float, typer.Option(min=0, help="Leave tokens that bring little: try 0.5.")] = 0,
    tiers_: TierOption = None,
    json: Json = False,
) -> None:
    """Recall what fits a question, best first.

    Entity, temporal and summary ask the model of the role "memory" (pointwork.toml) at tier high.
    """
    memory, chosen = _memory(), _tiers(tiers_ or [])
    with err.status("recalling …"):
        found = memory.recall(
            question, k=k, budget_tokens=budget_tokens, thread=thread, tiers=chosen, thrift=thrift
        )
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


@app.command(epilog="Example: [bold]pointwork memory read m7[/bold]")
def read(item_id: Annotated[str, typer.Argument(help="Id of the item.")], json: Json = False) -> None:
    """Print the exact original of an item."""
    text = _memory().read(item_id)
    if json:
        print_json({"id": item_id, "text": text})
    else:
        print_exact(text if text.endswith("\n") else text + "\n")


@app.command("list", epilog="Example: [bold]pointwork memory list --limit 5[/bold]")
def list_(
    limit: Annotated[int, typer.Option(min=1, help="How many, newest first.")] = 20, json: Json = False
) -> None:
    """List items, newest first."""
    memory = _memory()
    items = memory.items(offset=max(0, len(memory) - limit))[::-1][:limit]
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
    source: Annotated[str | None, typer.Option(help="Everything from this source, a file's parts too.")] = None,
    item_id: Annotated[str | None, typer.Option("--id", help="This item.")] = None,
    speaker: Annotated[str | None, typer.Option(help="Everything that this speaker said.")] = None,
    thread: Annotated[str | None, typer.Option(help="Everything of this conversation.")] = None,
    json: Json = False,
) -> None:
    """Delete by source, speaker, conversation or id, completely."""
    named = {"source": source, "id": item_id, "speaker": speaker, "thread": thread}
    given = {name: value for name, value in named.items() if value is not None}
    if not given or (item_id is not None and len(given) > 1):
        raise UsageError("give --id, or any of --source, --speaker and --thread")
    count = _memory().delete(**given)
    if json:
        print_json({"deleted": count})
    else:
        out.print(f"deleted {count} item{'s' if count != 1 else ''} {escape(', '.join(given.values()))}".strip())


@app.command(epilog="Example: [bold]pointwork memory ingest notes.md report.pdf --trust user[/bold]")
def ingest(
    files: Annotated[list[Path] | None, typer.Argument(help="Markdown, text, PDF, HTML or chat logs.")] = None,
    run: Annotated[str | None, typer.Option(help="A run of the store instead of files.")] = None,
    trust: Annotated[str, typer.Option(help="Who wrote them: user, agent, tool or web.")] = "user",
    replace: Annotated[
        bool, typer.Option("--replace", help="Forget what a file held before and holds no more.")
    ] = False,
    json: Json = False,
) -> None:
    """Keep files, all or none, or a whole run, in parts that can be found by themselves.

    Parts that are there already, unchanged, are not kept again. Of a file that has changed the new parts are added,
    and what they stand for stays, unless --replace says otherwise.
    """
    from rich.progress import track

    from pointwork.memory.ingest import read_file
    from pointwork.memory.items import part_of

    if (run is None) == (not files):
        raise UsageError("give files, or --run with the id of a run")
    memory = _memory()
    if run is not None:
        ids = memory.ingest_run(run)
        print_json({"ids": {f"run:{run}": ids}}) if json else out.print(
            f"run:{run}: {_items(len(ids))}", markup=False
        )
        return
    # all are read before any is kept: who mends the one that was refused and asks again gets none twice
    given = list(dict.fromkeys(files or []))
    said = track(given, "reading", console=err, disable=json or len(given) < 2, transient=True)
    read = [(str(file), read_file(file, trust=trust)) for file in said]
    kept = memory.keep(entry for _, entries in read for entry in entries)
    left, ids_of = list(kept.ids), dict[str, list[str]]()
    for name, entries in read:
        ids_of[name], left = left[: len(entries)], left[len(entries) :]
    gone = {name: memory.keep_only(name, ids) for name, ids in ids_of.items()} if replace else {}
    if json:
        print_json({"ids": ids_of, "new": kept.new, "forgotten": sum(gone.values())})
        return
    for name, ids in ids_of.items():
        old = 0 if replace else sum(part_of(source, name) for source in kept.before.values())
        out.print(f"{name}: {_told(len(ids), len({*ids} & {*kept.new}), old, gone.get(name, 0))}", markup=False)


def _told(count: int, new: int, old: int, gone: int) -> str:
    """What became of a file of ``count`` parts."""
    parts = [_items(new) if new else f"there already, unchanged ({_items(count)})"]
    if 0 < new < count:
        parts.append(f"{count - new} there already")
    if old:
        parts.append(
            f"{old} of before {'is' if old == 1 else 'are'} kept too (--replace forgets what it held before)"
        )
    if gone:
        parts.append(f"{gone} of before forgotten")
    return ", ".join(parts)


def _items(count: int) -> str:
    return f"{count} item{'s' if count != 1 else ''}"


@app.command(epilog='Example: [bold]pointwork memory explain "When does the gate open?" --plot[/bold]')
def explain(
    question: Annotated[str, typer.Argument(help="What to look for.")],
    k: Annotated[int, typer.Option(min=1, help="Most items.")] = 10,
    thread: Annotated[str | None, typer.Option(help="Prefer this conversation.")] = None,
    tiers_: TierOption = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw what each module gave (see --out).")] = False,
    out_: Annotated[Path, typer.Option("--out", help="Where --plot writes its picture.")] = Path("recall.png"),
    json: Json = False,
) -> None:
    """Show which module found what for a question, and at what cost."""
    from pointwork.memory.explain import draw, explained

    with err.status("recalling …"):
        found = explained(_memory(), question, k=k, thread=thread, tiers=_tiers(tiers_ or []))
    if plot:
        draw(found, out_)
    if json:
        print_json(found)
        return
    given = ("found_by", "share", "entity", "temporal", "topic", "ranker")
    table(
        ("#", "id", *given, "text"),
        [
            (str(n), row["id"], *(_number(row.get(name)) for name in given), " ".join(row["text"].split())[:70])
            for n, row in enumerate(found["items"], 1)
        ],
        "nothing fits",
    )
    for module, cost in found["costs"].items():
        tier = found["tiers"].get(module, "")
        took = f"{cost['seconds'] * 1e3:.1f} ms, {cost['tokens']} tokens, {money(cost['usd'])}"
        out.print(f"[dim]{module} {tier}: {took}[/dim]")
    if plot:
        out.print(f"[dim]picture: {escape(str(out_))}[/dim]")


def _number(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value or "")


def _tiers(given: list[str]) -> dict[str, str] | str | None:
    """``MODULE=TIER`` and ``TIER`` as ``Memory.recall`` takes them."""
    chosen: dict[str, str] = {}
    for text in given:
        module, equals, tier = text.partition("=")
        if not equals:
            if len(given) > 1:
                raise UsageError(f"--tier {text} is for all modules; give it alone, or MODULE=TIER for each")
            return text
        chosen[module] = tier
    return chosen or None

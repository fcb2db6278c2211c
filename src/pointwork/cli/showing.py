"""``pointwork runs show``: a run as a tree, in the width of the terminal."""

import json
from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from pointwork.cli.output import ago, money, tiers
from pointwork.cli.running import AUTHORS
from pointwork.cli.story import Attempt, Event, Part, Round, Story

# Columns of a time line, and of the narrowest terminal that is drawn for.
BAR, LEAST_WIDTH = 22, 60

_MARKS = {"ok": ("✓", "green"), **dict.fromkeys(("failed", "error", "denied", "unknown"), ("✗", "red"))}


def draw_story(story: Story, console: Console, *, verbose: bool = False) -> None:
    """Print a run: its plans as trees of parts and tries, each with a bar on the run's time line."""
    width = max(LEAST_WIDTH, console.width)
    for line in lines_of(story, width, verbose=verbose):
        console.print(line, no_wrap=True, overflow="ignore", crop=False)


def lines_of(story: Story, width: int, *, verbose: bool = False) -> Iterator[Text]:
    """The lines, none wider than ``width`` columns unless ``verbose`` shows something whole."""
    yield from _head(story, width)
    for round_ in story.rounds:
        yield Text()
        yield from _round(story, round_, width, verbose)
    for event in story.others:
        yield _cut(Text.assemble((f"{event.name} ", "cyan"), (_sums([event]), "dim")), width)
    if not story.rounds:
        yield Text("nothing was planned yet", style="dim")
    yield Text()
    yield _cut(_total(story), width)


def _head(story: Story, width: int) -> Iterator[Text]:
    run = story.run
    result = run["result"]
    yield _cut(Text(_line(run["task"]), style="bold"), width)
    thread = f" · thread {run['thread']}" if run["thread"] else ""
    yield _cut(Text(f"run {run['id']} · {run['status']} · {ago(run['created'])}{thread}", style="dim"), width)
    asked = next((round_.asked for round_ in story.rounds if round_.asked), "")
    if asked and asked != run["task"]:
        yield _cut(Text.assemble(("understood as: ", "dim"), _line(asked)), width)
    if run["error"]:
        yield _cut(Text(_line(run["error"]), style="red"), width)
    if result is not None:
        style = "green" if result["status"] == "ok" else "yellow"
        yield _cut(Text.assemble(("answer: ", "dim"), (_line(result["text"]) or "(none)", style)), width)
        for line in result["missing"]:
            yield _cut(Text.assemble(("missing: ", "yellow"), _line(line)), width)


def _round(story: Story, round_: Round, width: int, verbose: bool) -> Iterator[Text]:
    name = "Plan" if round_.number == 0 else f"New plan {round_.number + 1}"
    # one part that rules made after a model's plan was refused needed no plan either, but that is not why
    author = "splitter" if round_.problems and round_.author == "instant" else round_.author
    by = f" ({AUTHORS[author]})" if author in AUTHORS else ""
    sums = f"  {_sums(round_.events)}" if round_.events else ""
    yield _cut(Text.assemble((name, "bold"), by, (sums, "dim")), width)
    for problem in round_.problems:
        yield _cut(Text.assemble(("  refused: ", "yellow"), (_line(problem), "dim")), width)
    for part, stem, last in _tree(round_.parts):
        yield from _part(story, part, stem, last, width, verbose)


def _tree(parts: Sequence[Part]) -> Iterator[tuple[Part, str, bool]]:
    """Parts in the order of a tree: each below the last of those it builds on, with the stem that leads to it."""
    known = {part.id for part in parts}
    below: dict[str, list[Part]] = {}
    for part in parts:
        needs = [need for need in part.needs if need in known]
        below.setdefault(needs[-1] if needs else "", []).append(part)

    def walk(parent: str, stem: str) -> Iterator[tuple[Part, str, bool]]:
        children = below.get(parent, [])
        for number, part in enumerate(children):
            last = number == len(children) - 1
            yield part, stem, last
            yield from walk(part.id, stem + ("   " if last else "│  "))

    return walk("", "")


def _part(story: Story, part: Part, stem: str, last: bool, width: int, verbose: bool) -> Iterator[Text]:
    after = f"  after {', '.join(part.needs)}" if part.needs else ""
    head = Text.assemble(f"{stem}{'└─' if last else '├─'} ", (part.id, "bold"), " ", (part.capability, "cyan"), " ")
    room = width - cell_len(head.plain) - cell_len(after)
    yield head.append(_short(part.text, room)).append(after, style="dim")
    inner = stem + ("   " if last else "│  ")
    if not part.tries:
        yield Text(f"{inner}not begun", style="dim")
    for attempt in part.tries:
        yield from _attempt(story, attempt, inner, width, verbose)


def _attempt(story: Story, attempt: Attempt, stem: str, width: int, verbose: bool) -> Iterator[Text]:
    mark, style = _MARKS.get(attempt.status, ("!", "yellow"))
    arm = f"{attempt.agent} · {attempt.model} · {attempt.mode}"
    memory = f"  memory {tiers(attempt.tiers)}" if attempt.tiers else ""
    yield _cut(Text.assemble(stem, (f"{mark} ", style), arm, (memory, "dim")), width)
    stem += "  "
    drawn = f"p {attempt.propensity:.2f} of {len(attempt.candidates)}"
    seconds = attempt.end - attempt.start
    facts = f" {seconds:.1f} s · {_tokens(attempt.tokens)} · {money(attempt.usd)} · {drawn}"
    yield _cut(Text.assemble(stem, _bar(story, attempt), (facts, "dim")), width)
    if verbose:
        yield from _candidates(attempt, stem)
    for event in attempt.events:
        if event.kind == "tool":
            yield _call(event, stem, width, verbose)
        elif verbose or event.status != "done":
            yield _asked(event, stem, width)
    if attempt.status == "ok":
        yield _cut(Text.assemble(stem, ("= ", "dim"), (_line(attempt.text), "green")), width)
        return
    if attempt.text:
        yield _cut(Text.assemble(stem, ("= ", "dim"), _line(attempt.text)), width)
    why = attempt.why or ("it was stopped before it was checked" if attempt.status == "stopped" else attempt.status)
    yield from _wrapped(Text.assemble(stem, (_line(why), style)), stem, width)


def _bar(story: Story, attempt: Attempt) -> Text:
    """When the try was at work: ░ its span on the run's time line, █ a model, ▓ a tool."""
    whole = max(1e-9, story.end - story.start)
    cells = [" "] * BAR

    def fill(start: float, end: float, sign: str) -> None:
        first = min(BAR - 1, max(0, int((start - story.start) / whole * BAR)))
        last = min(BAR - 1, max(first, int((end - story.start) / whole * BAR - 1e-9)))
        for cell in range(first, last + 1):
            cells[cell] = sign

    fill(attempt.start, attempt.end, "░")
    for event in sorted(attempt.events, key=lambda event: event.kind == "tool"):
        fill(event.start, event.end, "█" if event.kind == "model" else "▓")
    return Text.assemble(("▕", "dim"), ("".join(cells), "cyan"), ("▏", "dim"))


def _candidates(attempt: Attempt, stem: str) -> Iterator[Text]:
    yield Text(f"{stem}drawn by {attempt.policy} from:", style="dim")
    for candidate in attempt.candidates:
        arm = f"{attempt.agent}/{attempt.model}/{attempt.mode}"
        figures = f"{stem}{'▸' if candidate['arm'] == arm else ' '} {candidate['propensity']:.3f}"
        for name in ("score", "mean", "bonus"):
            if isinstance(candidate.get(name), int | float):
                figures += f"  {name} {candidate[name]:.3f}"
        if isinstance(candidate.get("cost"), int | float):
            figures += f"  {money(candidate['cost'])}"
        yield Text(f"{figures}  {candidate['arm']}", style="dim")


def _call(event: Event, stem: str, width: int, verbose: bool) -> Text:
    arguments = json.dumps(event.arguments, ensure_ascii=False, separators=(", ", ": "), default=str)
    said = _line(event.said).removeprefix(f"tool {event.name!r} failed: ") or event.status
    arrow = Text(" → ")
    head = Text.assemble(stem, (event.name, "magenta"), " ")
    style = "red" if event.status in ("failed", "denied") else ""
    if verbose:
        return head.append(arguments).append_text(arrow).append(said, style=style)
    room = width - cell_len(head.plain) - 3
    said = _line(event.answer) or said
    # the result takes what the arguments leave, at least a third
    shown = _short(arguments, max(room - cell_len(said), room * 2 // 3))
    return (
        head.append(shown, style="dim").append_text(arrow).append(_short(said, room - cell_len(shown)), style=style)
    )


def _asked(event: Event, stem: str, width: int) -> Text:
    style = "red" if event.status == "failed" else "dim"
    head = f"model {event.seconds:.1f} s {_tokens(event.tokens)} → "
    return _cut(Text.assemble(stem, (head, "dim"), (_line(event.said), style)), width)


def _total(story: Story) -> Text:
    events = [event for round_ in story.rounds for event in round_.events] + story.others
    events += [e for r in story.rounds for part in r.parts for attempt in part.tries for e in attempt.events]
    calls = sum(event.kind == "tool" for event in events)
    seconds = f"{story.end - story.start:.1f} s"
    tools = f"{calls} tool call{'s' if calls != 1 else ''}"
    return Text(f"in all {seconds} · model {_sums(events, seconds=False)} · {tools}", style="dim")


def _sums(events: Sequence[Event], *, seconds: bool = True) -> str:
    asked = [event for event in events if event.kind == "model"]
    parts = [f"{sum(event.seconds for event in asked):.1f} s"] if seconds else []
    parts += [f"{len(asked)} call{'s' if len(asked) != 1 else ''}", _tokens(sum(e.tokens for e in asked))]
    return " · ".join([*parts, money(sum(event.usd for event in asked))])


def _tokens(count: int) -> str:
    return f"{count} tok" if count < 10_000 else f"{count / 1000:.0f}k tok"


def _line(text: str) -> str:
    return " ".join(text.split())


def _short(text: str, room: int) -> str:
    text = _line(text)
    shown = Text(text)
    shown.truncate(max(4, room), overflow="ellipsis")
    return shown.plain


def _cut(text: Text, width: int) -> Text:
    text.truncate(width, overflow="ellipsis")
    return text


def _wrapped(text: Text, stem: str, width: int) -> Iterator[Text]:
    """What went wrong is worth two lines."""
    if cell_len(text.plain) <= width:
        yield text
        return
    cut = text.plain.rfind(" ", len(stem), width)
    cut = width - 1 if cut <= len(stem) else cut
    yield text[:cut]
    yield _cut(Text.assemble(stem, text[cut:].plain.strip()), width).copy()

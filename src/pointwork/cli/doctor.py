"""``pointwork doctor``: what is configured, reachable, missing, and how to mend it."""

import asyncio
import platform
import sys
from collections.abc import Callable
from typing import Annotated

import typer

import pointwork
from pointwork.cli.output import FAILED, OK, out, print_json
from pointwork.cli.team import own_store
from pointwork.errors import PointworkError

Finding = tuple[str, str, str]  # (ok | warning | error, what, how to mend it)


def doctor(json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Check configuration, store, models and extras. Exit code 1 if something must be mended."""
    findings: list[dict[str, str]] = []
    for area, check in CHECKS.items():
        try:
            found = check()
        except (PointworkError, ImportError) as error:
            found = [("error", str(error), "")]
        findings += [{"area": area, "state": state, "what": what, "mend": mend} for state, what, mend in found]
    if json:
        print_json(findings)
    else:
        for row in findings:
            mark = {"ok": "[green]✓[/green]", "warning": "[yellow]![/yellow]", "error": "[red]✗[/red]"}[
                row["state"]
            ]
            out.print(mark, f"{row['area']}:", end=" ")
            out.print(row["what"], markup=False)
            if row["mend"]:
                out.print(f"    → {row['mend']}", markup=False)
    raise typer.Exit(FAILED if any(row["state"] == "error" for row in findings) else OK)


def _package() -> list[Finding]:
    return [("ok", f"{pointwork.__version__} on Python {platform.python_version()} ({sys.prefix})", "")]


def _config() -> list[Finding]:
    import os
    from pathlib import Path

    from pointwork.settings import FILE_NAME, load

    load()
    named = os.environ.get("POINTWORK_CONFIG")
    if named or Path(FILE_NAME).is_file():
        return [("ok", named or f"{FILE_NAME} in this folder", "")]
    return [("ok", "none; defaults hold", "")]


def _store() -> list[Finding]:
    from sqlalchemy import func, select

    from pointwork.store.tables import runs

    store = own_store()
    count = store.row(select(func.count().label("n")).select_from(runs))
    return [("ok", f"{store.url!r}, {count['n'] if count else 0} runs", "")]


def _models() -> list[Finding]:
    from pointwork.extras import available
    from pointwork.models import open_client
    from pointwork.models.weights import of_spec, present
    from pointwork.roles import ROLES
    from pointwork.settings import EMBEDDED, load

    settings = load()
    found: list[Finding] = []
    for model in dict.fromkeys(settings.model_for(role).model for role in ROLES):
        roles = ", ".join(role for role in ROLES if settings.model_for(role).model == model)
        if model.startswith(EMBEDDED):
            if not available("xllamacpp"):
                found.append(("error", f"{roles}: embedded model", "pip install 'pointwork[local]'"))
                continue
            file = of_spec(model)
            if file is not None and not present(file):
                mend = f"pointwork models pull {file.name} (or the first run does it)"
                found.append(("warning", f"{roles}: {file.name} is not in the cache", mend))
            else:
                found.append(("ok", f"{roles}: {model if file is None else file.name}, in-process", ""))
        elif model.startswith(("http://", "https://")):
            found.append(_reachable(roles, model))
        else:
            open_client(model)
            found.append(("ok", f"{roles}: {model} (through litellm; not called)", ""))
    return found


def _reachable(roles: str, model: str) -> Finding:
    import httpx2

    address = model.split("#")[0].rstrip("/")

    async def ask() -> int:
        async with httpx2.AsyncClient(timeout=5) as client:
            return (await client.get(f"{address}/models")).status_code

    try:
        status = asyncio.run(ask())
    except httpx2.HTTPError as error:
        return (
            "error",
            f"{roles}: {address} does not answer ({error})",
            "start the server, or mend [models] in the config",
        )
    if status in (401, 403):
        return (
            "warning",
            f"{roles}: {address} answers, but wants a key ({status})",
            "set api_key_env in [models.<role>]",
        )
    if status != 200:
        return (
            "warning",
            f"{roles}: {address} answers {status} to /models",
            "is it an OpenAI-compatible /v1 address?",
        )
    return ("ok", f"{roles}: {address} answers", "")


def _extras() -> list[Finding]:
    from pointwork.extras import EXTRAS, available

    by_extra: dict[str, list[str]] = {}
    for module, extra in EXTRAS.items():
        by_extra.setdefault(extra, []).append(module)
    there = [extra for extra, modules in by_extra.items() if all(map(available, modules))]
    absent = [extra for extra in by_extra if extra not in there]
    mend = f"pip install 'pointwork[{','.join(absent)}]' for what you need of it" if absent else ""
    return [("ok", f"installed: {', '.join(there) or 'none'}; not installed: {', '.join(absent) or 'none'}", mend)]


CHECKS: dict[str, Callable[[], list[Finding]]] = {
    "package": _package,
    "configuration": _config,
    "store": _store,
    "models": _models,
    "extras": _extras,
}

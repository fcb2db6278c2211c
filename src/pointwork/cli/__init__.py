"""The command line: ``pointwork``. One module per group of commands; ``output`` draws."""

import gc

# Objects made before garbage is looked for. What a command makes first are modules, which stay: with Python's own
# number, a tenth of the time that a run takes to load went into looking through them.
GARBAGE = 10_000


def main() -> None:
    """Entry point of the ``pointwork`` command."""
    gc.set_threshold(GARBAGE)
    try:
        from pointwork.cli.app import run
    except KeyboardInterrupt:  # no traceback for a Ctrl-C while commands are imported
        raise SystemExit(130) from None
    run()

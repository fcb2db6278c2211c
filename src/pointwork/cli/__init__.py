"""The command line: ``pointwork``. One module per group of commands; ``output`` draws."""


def main() -> None:
    """Entry point of the ``pointwork`` command."""
    try:
        from pointwork.cli.app import run
    except KeyboardInterrupt:  # the import takes a second or more: no traceback for a Ctrl-C meanwhile
        raise SystemExit(130) from None
    run()

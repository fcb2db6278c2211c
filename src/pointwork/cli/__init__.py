"""The command line: ``pointwork``. One module per group of commands; ``output`` draws."""


def main() -> None:
    """Entry point of the ``pointwork`` command."""
    from pointwork.cli.app import run

    run()

"""``python -m pointwork``."""

from pointwork.cli import main

if __name__ == "__main__":
    main()

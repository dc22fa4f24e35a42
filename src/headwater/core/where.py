"""Say where the pages of a run are: ``python -m headwater.core.where RUN [DOMAIN ...]``."""

from __future__ import annotations

import sys
from pathlib import Path


def main(run: str, domains: list[str]) -> int:
    """Print the page of every domain that has one; return 1 when none has."""
    results = Path("results") / run
    pages = [results / d / "report/index.html" for d in domains] + [results / "index.html"]
    found = [page for page in pages if page.is_file()]
    for page in found:
        print(f"Open {page.resolve()}")
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))

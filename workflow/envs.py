"""Write envs/<domain>.yaml from pyproject.toml and the lock; `--check` prints what differs.

python workflow/envs.py [--check]
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOMAINS = ("counts", "spatial", "genomics", "eeg", "opf", "methods")


def name_of(requirement):
    """Return the normalised project name of a requirement line."""
    return re.split(r"[<>=!~\[ ;]", requirement)[0].lower().replace("_", "-")


def locked():
    """Return the lock as name -> version."""
    lines = (ROOT / "locks/py311.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if "==" in line)


def environment(domain):
    """Return the text of a domain's conda environment."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["dependencies"] + project["optional-dependencies"][domain]
    versions = locked()
    lines = [
        f"# The extra `{domain}` at the versions of the lock. Made by `make envs`.",
        f"name: headwater-{domain}",
        "channels: [conda-forge, nodefaults]",
        "dependencies:",
        "  - python=3.11",
        "  - pip",
        "  - pip:",
        *(f"      - {n}=={versions[n]}" for n in sorted({name_of(r) for r in wanted})),
    ]
    return "\n".join(lines) + "\n"


def main(check):
    """Write all files, or return the number of those that differ."""
    different = 0
    for domain in DOMAINS:
        path, text = ROOT / f"envs/{domain}.yaml", environment(domain)
        if not check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            different += 1
            old = set(path.read_text().splitlines()) if path.exists() else set()
            for line in sorted(set(text.splitlines()) ^ old):
                print(f"{path.relative_to(ROOT)}: {line.strip()}; run `make envs`")
    return different


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv))

"""Write the licences of all installed packages to docs/licences.md.

python docs/licences.py PYTHON

PYTHON is the interpreter of an environment that contains only `.[all]`. Requires `pip-licenses`.
Exits with 1 if a licence is unknown or requires importing programs to use the same licence.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parent / "licences.md"
# These licences extend to programs that import the package. The Lesser GPL covers only changes to
# the package itself.
REFUSED = re.compile(r"\bA?GPL|(?<!Lesser )General Public|^UNKNOWN$", re.IGNORECASE)
LINES = {"Apache Software License": "Apache-2.0", "MIT License": "MIT", "BSD License": "BSD"}
HEAD = """# Licences

This page lists the declared licences of all packages that `pip install "ragassay[all]"` installs.
`python docs/licences.py PYTHON` writes this page. A weekly workflow fails if a licence is
incompatible with ragassay's own licence (Apache-2.0).

## Model weights in the package

| weights | licence | origin |
|---|---|---|
| all-MiniLM-L6-v2 (`ragassay/models/all_minilm_l6_v2`) | Apache-2.0 | \
`sentence-transformers/all-MiniLM-L6-v2`, in half precision; \
derived from Microsoft's MiniLM (MIT, see `LICENSE-MiniLM` in the same folder) |
| adapters, raters, the reranker | Apache-2.0 | we trained them on top of all-MiniLM-L6-v2 and \
SmolLM2-135M-Instruct (both Apache-2.0); `ragassay models show NAME` lists the training data |

## Packages

| licence | packages |
|---|---|
"""


def main(python: str) -> int:
    """Write the page and report incompatible licences."""
    command = ["pip-licenses", "--python", python, "--from=mixed", "--format=json"]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: dict[str, list[str]] = {}
    for package in json.loads(told):
        if package["Name"] != "ragassay":
            # Some packages declare the full licence text. Its first line is the name.
            name = package["License"].strip().splitlines()[0]
            found.setdefault(LINES.get(name, name), []).append(package["Name"])
    rows = (
        f"| {name} | {', '.join(sorted(found[name], key=str.lower))} |" for name in sorted(found)
    )
    PAGE.write_text(HEAD + "\n".join(rows) + "\n", encoding="utf-8")
    refused = {name: packages for name, packages in found.items() if REFUSED.search(name)}
    for name, packages in refused.items():
        print(f"error: {', '.join(packages)} under {name}", file=sys.stderr)
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

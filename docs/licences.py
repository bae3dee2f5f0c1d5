"""List the licences of all that ragassay installs in docs/licences.md; refuse some.

python docs/licences.py PYTHON

PYTHON is the interpreter of an environment that holds `.[all]` alone. Needs `pip-licenses`.
Ends with 1 where a licence is unknown, or asks that what imports it is under the same one.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parent / "licences.md"
# Whole programs that import such a package come under its terms; under the Lesser GPL only changes
# to the package do.
REFUSED = re.compile(r"\bA?GPL|(?<!Lesser )General Public|^UNKNOWN$", re.IGNORECASE)
LINES = {"Apache Software License": "Apache-2.0", "MIT License": "MIT", "BSD License": "BSD"}
HEAD = """# Licences

What `pip install "ragassay[all]"` installs, as its packages declare it; `python docs/licences.py
PYTHON` makes this page, and a workflow looks weekly for a licence that ragassay (Apache-2.0)
may not build on.

## Model weights in the package

| weights | licence | origin |
|---|---|---|
| all-MiniLM-L6-v2 (`ragassay/models/all_minilm_l6_v2`) | Apache-2.0 | \
`sentence-transformers/all-MiniLM-L6-v2`, in half precision; descends from Microsoft's MiniLM (MIT, `LICENSE-MiniLM` beside it) |
| adapters, raters, the reranker | Apache-2.0 | trained here over all-MiniLM-L6-v2 and \
SmolLM2-135M-Instruct (both Apache-2.0); `ragassay models show NAME` names the data |

## Packages

| licence | packages |
|---|---|
"""


def main(python: str) -> int:
    """Write the page, and name what is refused."""
    command = ["pip-licenses", "--python", python, "--from=mixed", "--format=json"]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: dict[str, list[str]] = {}
    for package in json.loads(told):
        if package["Name"] != "ragassay":
            # Some packages declare the whole text; its first line is the name.
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

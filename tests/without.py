"""Run `ragassay` as if some libraries were not installed: `python without.py NAMES CALL...`.

NAMES are modules, by comma; each CALL is a command line. Prints, as JSON, the exit code and the
stderr of each, and then the modules that were imported.
"""

from __future__ import annotations

import json
import shlex
import sys
from importlib.machinery import PathFinder

HIDDEN = frozenset(sys.argv[1].split(","))


class Finder(PathFinder):
    """Finds all modules and distributions but the hidden ones."""

    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        hidden = fullname in HIDDEN or fullname.partition(".")[0] in HIDDEN
        return None if hidden else super().find_spec(fullname, path, target)

    @classmethod
    def find_distributions(cls, *args, **kwargs):
        found = PathFinder.find_distributions(*args, **kwargs)
        return (one for one in found if one.name.lower().replace("-", "_") not in HIDDEN)


def main() -> None:
    sys.meta_path[sys.meta_path.index(PathFinder)] = Finder
    from typer.testing import CliRunner

    from ragassay.cli import app

    said = []
    for call in sys.argv[2:]:
        done = CliRunner().invoke(app, shlex.split(call))
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        said.append([done.exit_code, done.stderr])
    print(json.dumps({"said": said, "modules": sorted(sys.modules)}))


if __name__ == "__main__":
    main()

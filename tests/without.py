"""Run `ragassay` without network and with hidden libraries: `python without.py NAMES CALL...`.

NAMES are comma-separated modules, and each CALL is a command line. Prints the exit code, stderr and
stdout of each call, the imported modules, and the location of `ragassay` as JSON.
"""

from __future__ import annotations

import functools
import json
import shlex
import socket
import sys
from importlib.machinery import PathFinder

HIDDEN = frozenset(sys.argv[1].split(","))


class Finder(PathFinder):
    """Finder that hides some modules and distributions."""

    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        hidden = fullname in HIDDEN or fullname.partition(".")[0] in HIDDEN
        return None if hidden else super().find_spec(fullname, path, target)

    @classmethod
    def find_distributions(cls, *args, **kwargs):
        found = PathFinder.find_distributions(*args, **kwargs)
        return (one for one in found if one.name.lower().replace("-", "_") not in HIDDEN)


def refuse(*args, **kwargs):
    raise OSError("no network here")


def main() -> None:
    socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
    sys.meta_path[sys.meta_path.index(PathFinder)] = Finder
    import typer.main
    from typer.testing import CliRunner

    import ragassay
    from ragassay.cli import app

    # Building all commands takes a second, so share it between calls.
    typer.main.get_command = functools.cache(typer.main.get_command)
    said = []
    for call in sys.argv[2:]:
        done = CliRunner().invoke(app, shlex.split(call))
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        said.append([done.exit_code, done.stderr, done.stdout])
    found = {"said": said, "modules": sorted(sys.modules), "package": ragassay.__file__}
    print(json.dumps(found))


if __name__ == "__main__":
    main()

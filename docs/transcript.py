"""Run the commands in the pages that show output, and update the output in the pages.

python docs/transcript.py [--ragassay .venv/bin/ragassay] [--check]

The pages are docs/quickstart.md and the examples in `PAGES`. Each page has an empty folder of its
own, which contains a link to `examples`. In `console` blocks, lines that start with "$ " are
commands (a backslash at the end continues them), and the output below them is replaced. A block
after `<!-- file: NAME -->` is first written to that file. A block after
`<!-- shortened: 20, 5 -->` shows only the first 20 and the last 5 lines of output. Times and paths
are normalized. Local servers replace the models: OpenAI rejects every key, and the model at
`HOSTED_VLLM_API_BASE` answers that every passage contradicts its sentence.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ragassay.testing import Fault, ScriptedModel

ROOT = Path(__file__).parents[1]
PAGES = (
    "docs/quickstart.md",
    "examples/biogen/README.md",
    "examples/langgraph_app/README.md",
)
COMMAND = re.compile(r"^\$ (?:.*\\\n)*.*$", re.MULTILINE)
BLOCK = re.compile(r"(?:<!-- (file|shortened): (.+?) -->\n)?```(\w+)\n(.*?)```\n", re.DOTALL)
ALIKE = {
    r"\b\d+:\d\d:\d\d\b": "0:00:00",
    r"\S*/ragassay/sample/": ".venv/lib/python3.11/site-packages/ragassay/sample/",
    r"http://127\.0\.0\.1:\d+": "http://127.0.0.1:PORT",
}


def renewed(page: str, run: Callable[[str], str], write: Callable[[str, str], None]) -> str:
    """Return the page with updated command output.

    Args:
        page: Current text of the page.
        run: Function that runs a command and returns its output.
        write: Function that writes a text to a file name.
    """

    def replaced(block: re.Match[str]) -> str:
        mark, value, language, text = block.groups()
        if mark == "file":
            write(value, text)
        if language != "console":
            return block[0]
        printed = [(line, run(line.removeprefix("$ "))) for line in COMMAND.findall(text)]
        lines = "\n".join(f"{line}\n{said}".rstrip() for line, said in printed).splitlines()
        if mark == "shortened":
            first, last = (int(n) for n in value.split(","))
            lines = [*lines[:first], "...", *lines[-last:]] if len(lines) > first + last else lines
        head = block[0].partition("```")[0]
        return f"{head}```console\n" + "\n".join(lines) + "\n```\n"

    return BLOCK.sub(replaced, page)


def made_alike(text: str, folder: Path) -> str:
    """Replace times, paths and ports that differ between runs and machines."""
    text = text.replace(f"{folder}/", "").replace(str(folder), ".")
    for pattern, shown in ALIKE.items():
        text = re.sub(pattern, shown, text)
    return "\n".join(line.rstrip() for line in text.splitlines())


def contradict(messages: Any, schema: Any) -> dict[str, str]:
    """Return the reply of the scripted judge: every passage contradicts its sentence."""
    return (
        {"verdict": "contradicts"} if "verdict" in schema["properties"] else {"label": "required"}
    )


def main() -> None:
    """Update the pages, or check whether they are up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ragassay", default=shutil.which("ragassay"), help="the program to run")
    parser.add_argument("--check", action="store_true", help="check the pages without writing")
    options = parser.parse_args()
    refusing = ScriptedModel(faults=[Fault("unauthorized")])
    outdated = []
    with tempfile.TemporaryDirectory() as name, refusing, ScriptedModel(contradict) as judge:
        programs = Path(name) / "bin"
        programs.mkdir()
        (programs / "ragassay").symlink_to(Path(options.ragassay).resolve())
        _write(programs / "python", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        (programs / "python").chmod(0o755)
        kept = {n: v for n, v in os.environ.items() if not n.startswith(("RAGASSAY_", "OPENAI_"))}
        environment = kept | {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "COLUMNS": "80",
            "OPENAI_BASE_URL": refusing.base_url,
            "HOSTED_VLLM_API_BASE": judge.base_url,
        }
        for page in PAGES:
            folder = Path(name) / page.replace("/", "_")
            folder.mkdir()
            (folder / "examples").symlink_to(ROOT / "examples")
            before = (ROOT / page).read_text(encoding="utf-8")
            after = run_page(before, folder, environment)
            if before != after and options.check:
                outdated.append(page)
            elif before != after:
                _write(ROOT / page, after)
    if outdated:
        sys.exit(f"{', '.join(outdated)}: out of date")


def run_page(text: str, folder: Path, environment: dict[str, str]) -> str:
    """Run the commands of a page in a folder, and return the page with their output."""

    def run(command: str) -> str:
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return made_alike(done.stdout, folder)

    return renewed(text, run, lambda file, content: _write(folder / file, content))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

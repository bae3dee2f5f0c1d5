"""MkDocs hooks that add the README, the examples and generated references to the site.

Links that leave this folder (`../examples/...`) are rewritten to copies of the files in the site.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import ragassay
from ragassay import testing

ROOT = Path(__file__).parent.parent
NOTEBOOK = "examples/notebook/first_run.ipynb"
COPIED = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "LICENSE": "LICENSE",
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add generated pages and pages from outside this folder."""
    texts = {made: _linked(ROOT / name) for name, made in COPIED.items()}
    for path in sorted(ROOT.glob("examples/*/*")):
        if path.suffix in (".md", ".yaml", ".ipynb"):
            texts[str(path.relative_to(ROOT))] = _linked(path)
    texts["notebook.md"] = notebook_page(ROOT / NOTEBOOK)
    texts |= {"commands.md": command_reference(), "reference.md": python_reference()}
    for name, text in texts.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Rewrite links that leave this folder to the copies in the site."""
    return re.sub(r"\]\(((?:\.\./)*)\.\./(?=examples/)", r"](\1", markdown)


def _linked(path: Path) -> str:
    """Return the text of a file outside this folder, with links rewritten for the site."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        up = "../" * len(path.parent.relative_to(ROOT).parts)
        text = re.sub(r"\]\((?:\.\./)*docs/", f"]({up}", text)
        for name, made in COPIED.items():
            text = text.replace(f"]({name}", f"]({made}")
    return text


def notebook_page(path: Path) -> str:
    """Return the cells of a notebook as Markdown, with a download link."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
    return "\n\n".join([*parts, f"[Download the notebook]({NOTEBOOK})."])


def command_reference() -> str:
    """Return Typer's documentation of all commands and options."""
    import typer
    from typer.cli import get_docs_for_click

    from ragassay.cli import app

    command = typer.main.get_command(app)
    text = get_docs_for_click(
        obj=command, ctx=typer.Context(command), name="ragassay", title="Commands"
    )
    # Typer truncates command descriptions, and the table of contents lists all commands anyway.
    text = re.sub(r"\*\*Commands\*\*:\n\n(?:\* .*\n)+", "", text)
    return re.sub(r"(?m)^  (?=ragassay |    )", "    ", text)


def python_reference() -> str:
    """Return the mkdocstrings directives for all exports of `ragassay` and `ragassay.testing`."""
    homes = ragassay._HOMES
    ours = sorted(homes, key=lambda name: (not name.islower(), name))
    lines = ["# Python", "", "## ragassay", ""]
    lines += [f"::: {homes[name]}.{name}\n" for name in ours]
    lines += ["## ragassay.testing", ""]
    lines += [f"::: ragassay.testing.{name}\n" for name in testing.__all__]
    return "\n".join(lines)

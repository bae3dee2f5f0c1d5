"""Pages of the site that stand elsewhere or are made: the README, the examples, the references.

Links that leave this folder (`../examples/...`) lead to copies of those files in the site.
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
    """Add the pages that do not stand in this folder."""
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
    """Let links out of this folder lead to the copies in the site."""
    return re.sub(r"\]\(((?:\.\./)*)\.\./(?=examples/)", r"](\1", markdown)


def _linked(path: Path) -> str:
    """The text of a file outside this folder, its links turned to the site's places."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        up = "../" * len(path.parent.relative_to(ROOT).parts)
        text = re.sub(r"\]\((?:\.\./)*docs/", f"]({up}", text)
        for name, made in COPIED.items():
            text = text.replace(f"]({name}", f"]({made}")
    return text


def notebook_page(path: Path) -> str:
    """The cells of a notebook as a page, and a link to the notebook."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
    return "\n\n".join([*parts, f"[Download the notebook]({NOTEBOOK})."])


def command_reference() -> str:
    """Every command with its options, as Typer writes it."""
    import typer
    from typer.cli import get_docs_for_click

    from ragassay.cli import app

    command = typer.main.get_command(app)
    text = get_docs_for_click(
        obj=command, ctx=typer.Context(command), name="ragassay", title="Commands"
    )
    # The lists of commands are cut short in mid-sentence, and the page's contents name them all.
    text = re.sub(r"\*\*Commands\*\*:\n\n(?:\* .*\n)+", "", text)
    return re.sub(r"(?m)^  (?=ragassay |    )", "    ", text)


def python_reference() -> str:
    """What `ragassay` and `ragassay.testing` export, from their docstrings."""
    homes = ragassay._HOMES
    ours = sorted(homes, key=lambda name: (not name.islower(), name))
    lines = ["# Python", "", "## ragassay", ""]
    lines += [f"::: {homes[name]}.{name}\n" for name in ours]
    lines += ["## ragassay.testing", ""]
    lines += [f"::: ragassay.testing.{name}\n" for name in testing.__all__]
    return "\n".join(lines)

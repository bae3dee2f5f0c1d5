"""Draw sentences of the project at random, for a reader who has never seen them.

    python benchmarks/sentences.py --seed 8123            # 60 sentences of pages and docstrings
    python benchmarks/sentences.py --seed 8123 --output   # 60 lines of help, errors and reports
    python benchmarks/sentences.py --all --places         # every sentence, with file and line

Let somebody who does not know the code rate each sentence as natural, odd or unintelligible. The
sentences have no context. Code blocks, examples and texts for models are left out, and `{...}`
stands for a value that is filled in. `--package NAME` draws from the docstrings of an installed
package instead, as a comparison.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import inspect
import random
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
N_SENTENCES = 60
N_WORDS = 4
"""Minimum number of words of a sentence."""

NO_OUTPUT = ("ragassay/prompts", "ragassay/text", "ragassay/testing", "ragassay/perturbations")
"""Rooms whose strings are prompts, patterns, word lists or test data."""

Sentence = tuple[str, str]
"""A place ("FILE:LINE") and the sentence."""

_SECTION = re.compile(r"(Args|Returns|Raises|Examples?|Yields|Attributes|Options|Note):")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\[\"“(])")
_ITEM = re.compile(r"[-*] |\d+\. ")
_ENTRY = re.compile(r"\*{0,2}\w+(?:, \w+)*: ")


def split_paragraph(text: str) -> Iterator[str]:
    """Yield the sentences of a paragraph that have enough words outside placeholders."""
    for sentence in _SENTENCE_END.split(" ".join(text.split())):
        words = re.findall(r"[A-Za-z]{2,}", re.sub(r"\{+[^{}]*\}+", " ", sentence))
        if len(words) >= N_WORDS and not re.match(r"(ragassay|pip|python|#) |[,;.)]", sentence):
            yield sentence


def docstring_sentences(docstring: str) -> Iterator[str]:
    """Yield the sentences of a docstring. Each entry of a section is a paragraph."""
    paragraph: list[str] = []
    for line in [*inspect.cleandoc(docstring).splitlines(), ""]:
        text = line.strip()
        is_example = text.startswith((">>>", "..."))
        is_start = _ITEM.match(text) or (line.startswith("    ") and _ENTRY.match(text))
        if paragraph and (not text or is_example or is_start or _SECTION.fullmatch(text)):
            yield from split_paragraph(" ".join(paragraph))
            paragraph = []
        if text and not is_example and not _SECTION.fullmatch(text):
            paragraph.append(text)


def page_sentences(page: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of the sentences and table rows of a Markdown page."""
    paragraph: list[str] = []
    start, is_code = 1, False
    for number, line in enumerate([*page.splitlines(), ""], 1):
        text = line.strip()
        is_fence = text.startswith(("```", "~~~"))
        is_code ^= is_fence
        is_row = text.startswith("|")
        if paragraph and (not text or is_fence or is_row or _ITEM.match(text) or text[0] in "#<!"):
            yield from ((start, one) for one in split_paragraph(" ".join(paragraph)))
            paragraph = []
        if is_row and not is_code:
            yield from ((number, one) for one in split_paragraph(text))
        elif text and not (is_fence or is_code or text[0] in "#<!"):
            start = start if paragraph else number
            paragraph.append(text)


def docstrings(tree: ast.AST) -> Iterator[ast.Constant]:
    """Yield the docstrings of modules, classes, functions and variables."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for one in body if isinstance(body, list) else ():
            if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant):
                if isinstance(one.value.value, str):
                    yield one.value


def prose(folder: Path) -> Iterator[Sentence]:
    """Yield the sentences of all docstrings below a folder."""
    for path in sorted(folder.rglob("*.py")):
        for one in docstrings(ast.parse(path.read_text("utf-8"))):
            place = f"{path.relative_to(folder.parent)}:{one.lineno}"
            yield from ((place, sentence) for sentence in docstring_sentences(str(one.value)))


def pages() -> Iterator[Sentence]:
    """Yield the sentences of the pages."""
    for path in (*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"):
        for line, sentence in page_sentences(path.read_text("utf-8")):
            yield f"{path.relative_to(ROOT)}:{line}", sentence


def output(folder: Path) -> Iterator[Sentence]:
    """Yield the sentences that users see: strings of the code, help of commands, templates."""
    for path in sorted(folder.rglob("*.py")):
        place = str(path.relative_to(folder.parent))
        if not place.startswith(NO_OUTPUT):
            yield from _output_of(ast.parse(path.read_text("utf-8")), place)
    for path in sorted(folder.rglob("*.html.j2")):
        place = str(path.relative_to(folder.parent))
        if not re.search(r"style|script|css", path.name):
            for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
                for text in re.findall(r">([^<>]{15,})<", line):
                    plain = re.sub(r"\{%.*?%\}", "", text)
                    yield from ((f"{place}:{number}", one) for one in split_paragraph(plain))


def _output_of(tree: ast.Module, place: str) -> Iterator[Sentence]:
    omitted = {id(one) for one in docstrings(tree)}
    for node in ast.walk(tree):
        is_signature = isinstance(node, ast.ClassDef) and "Signature" in str(
            [ast.unparse(base) for base in node.bases]
        )
        if is_signature or isinstance(node, ast.JoinedStr):
            omitted |= {id(one) for one in ast.walk(node) if one is not node}
        if isinstance(node, ast.FunctionDef) and re.match(r"ragassay/(cli|\w+/commands)/", place):
            if any("command" in ast.unparse(one) for one in node.decorator_list):
                help_text = ast.get_docstring(node) or ""
                found = docstring_sentences(help_text)
                yield from ((f"{place}:{node.lineno}", sentence) for sentence in found)
    for node in ast.walk(tree):
        text = _text_of(node) if id(node) not in omitted else ""
        if not re.search(r"\\b|\(\?|^\^", text) and text.count(" ") > len(text) * 0.08:
            yield from ((f"{place}:{node.lineno}", one) for one in split_paragraph(text))  # type: ignore[attr-defined]


def _text_of(node: ast.AST) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if not isinstance(node, ast.JoinedStr):
        return ""
    return "".join(
        f"{{{ast.unparse(one.value)}}}" if isinstance(one, ast.FormattedValue) else _text_of(one)
        for one in node.values
    )


def main() -> None:
    """Print the drawn sentences."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", action="store_true", help="draw from help, errors and reports")
    parser.add_argument("--all", action="store_true", help="print every sentence")
    parser.add_argument("--places", action="store_true", help="print file and line as well")
    parser.add_argument("--package", help="draw from the docstrings of an installed package")
    args = parser.parse_args()
    if args.package:
        spec = importlib.util.find_spec(args.package)
        if spec is None or spec.origin is None:
            parser.error(f"--package {args.package}: not installed")
        found = list(prose(Path(spec.origin).parent))
    elif args.output:
        found = list(output(ROOT / "ragassay"))
    else:
        found = [*prose(ROOT / "ragassay"), *pages()]
    drawn = found if args.all else random.Random(args.seed).sample(found, N_SENTENCES)
    for number, (place, sentence) in enumerate(drawn, 1):
        print(f"{number}. {place + ': ' if args.places else ''}{sentence}")


if __name__ == "__main__":
    main()

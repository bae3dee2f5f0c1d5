"""Tag parts of speech with TextBlob's tagger, without importing the rest of TextBlob."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def tag_words(words: Sequence[str]) -> list[str]:
    """Return the Penn Treebank tags of a sentence's tokens.

    The tokens must not contain spaces. The number of tags differs from the number of tokens if
    TextBlob splits or merges tokens.

    Example:
        >>> tag_words(["Two", "patients", "stopped", "the", "drug", "."])
        ['CD', 'NNS', 'VBD', 'DT', 'NN', '.']
    """
    options = {"chunks": False, "relations": False, "lemmata": False}
    # Return Penn Treebank tags unchanged, like `textblob.en.tag`.
    parsed = _load_parser().parse(
        " ".join(words), tokenize=False, map=lambda token, tag: (token, tag), **options
    )
    return [token[1] for sentence in parsed.split() for token in sentence]


@functools.cache
def _load_parser() -> Any:
    """Return a parser equal to `textblob.en.parser`, from the only module that it needs.

    `import textblob` also imports NLTK, scikit-learn and pandas, which the tagger does not need and
    which take a second to load.
    """
    # TextBlob has no public API for its tagger without NLTK; pyproject.toml pins its version range.
    package: Any = importlib.util.find_spec("textblob")
    folder = Path(package.origin).parent
    spec: Any = importlib.util.spec_from_file_location("textblob_text", folder / "_text.py")
    text: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(text)
    lists = {
        name: str(folder / "en" / f"en-{name}.txt")
        for name in ("lexicon", "morphology", "context", "entities")
    }
    lexicon = text.Lexicon(path=lists.pop("lexicon"), **lists, language="en")
    return text.Parser(lexicon=lexicon, default=("NN", "NNP", "CD"), language="en")

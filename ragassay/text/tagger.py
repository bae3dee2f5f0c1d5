"""Parts of speech, by TextBlob's tagger, without the libraries that TextBlob imports."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def tag_words(words: Sequence[str]) -> list[str]:
    """Return the Penn Treebank tag of each word of a sentence.

    Args:
        words: The sentence's tokens, without blanks.

    Returns:
        A tag a token; fewer or more where TextBlob cuts a token otherwise.

    Example:
        >>> tag_words(["Two", "patients", "stopped", "the", "drug", "."])
        ['CD', 'NNS', 'VBD', 'DT', 'NN', '.']
    """
    options = {"chunks": False, "relations": False, "lemmata": False}
    # As `textblob.en.tag`: Penn Treebank tags as they are.
    parsed = _parser().parse(
        " ".join(words), tokenize=False, map=lambda token, tag: (token, tag), **options
    )
    return [token[1] for sentence in parsed.split() for token in sentence]


@functools.cache
def _parser() -> Any:
    """Return `textblob.en.parser`, made by the module that has the tagger.

    `import textblob` imports NLTK, and with it scikit-learn and pandas: a second of processor time,
    for nothing that the tagger uses.
    """
    # textblob has no public way to its tagger without NLTK; pyproject.toml bounds its version.
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

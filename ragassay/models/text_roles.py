"""Embed questions, answers and sentences, each as a model wants to be told of it.

Models of the E5 family were trained with words before each text, and do worse without them (Wang et
al. 2022, arXiv 2212.03533; 2024, arXiv 2401.00368); others take a text as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from ragassay.model_names import MINILM
from ragassay.models.embeddings import Embedder
from ragassay.models.kept_vectors import KeptVectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TextRole = Literal["question", "answer", "sentence"]
"""Questions are compared with each other, answers with the sentences of a paper."""

Encode = Callable[[Sequence[str], TextRole], "NDArray[np.float32]"]
"""Gives texts of a role as vectors of length 1, shape (n_texts, n_dimensions)."""

TASKS: Mapping[TextRole, str] = {
    "question": "Given a question, find questions that ask for the same",
    "answer": "Given an answer from a scientific paper, find the sentences of the paper behind it",
}
"""What a model with instructions is told; a sentence, which is searched, gets none."""

PLAIN: Mapping[TextRole, str] = {"question": "", "answer": "", "sentence": ""}
E5: Mapping[TextRole, str] = {"question": "query: ", "answer": "query: ", "sentence": "passage: "}
INSTRUCTED: Mapping[TextRole, str] = {
    **PLAIN,
    **{role: f"Instruct: {task}\nQuery: " for role, task in TASKS.items()},
}

_E5 = re.compile(r"(?:^|[-_])e5(?:[-_]|$)")
_INSTRUCT = re.compile(r"[-_]instruct(?:[-_]|$)")


def prefixes(model: str) -> Mapping[TextRole, str]:
    """Return what a model wants before a text of each role, by its name.

    Args:
        model: A name, or a folder whose last part is the name: "intfloat/e5-small-v2".
    """
    name = model.rstrip("/").rpartition("/")[2].lower()
    if not _E5.search(name):
        return PLAIN
    return INSTRUCTED if _INSTRUCT.search(name) else E5


class RoleEncoder:
    """Embeds texts by their role: an `Encode` made from a model.

    Args:
        model: A name as `Embedder` takes it.
        embedder: What embeds; by default an `Embedder` of the model.
    """

    def __init__(self, model: str = MINILM, embedder: Embedder | KeptVectors | None = None) -> None:
        self.name = model
        self._embedder = embedder or Embedder(model)
        self._prefixes = prefixes(model)

    def __call__(self, texts: Sequence[str], role: TextRole) -> NDArray[np.float32]:
        """Return vectors of length 1, shape (n_texts, n_dimensions); (0, 0) without a text."""
        prefix = self._prefixes[role]
        return self._embedder.encode_many([prefix + text for text in texts])

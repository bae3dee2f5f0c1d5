"""Run the packaged all-MiniLM-L6-v2 on ONNX Runtime: no torch is imported.

The graph (`minilm.onnx`, by `python -m training.encoder_graph`) has no weights: they are beside it
in half precision (by `python -m training.encoder_weights`), and an adapter is added to them before
the session is made. Everything is computed in single precision.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragassay.models.adapters import WEIGHTS, Adapter, Shape, read_shape
from ragassay.models.weights import MINILM_PARTS, check_digest, minilm_folder
from ragassay.process import cores
from ragassay.text.search import with_closest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

N_LAYERS = 6
LONGEST_TEXT = 256
"""Tokens of a text that are embedded, as the model's own settings say."""

_PROJECTIONS = ("query", "key", "value")
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


class MiniLM:
    """The encoder, on the core of the thread that calls it; safe across threads.

    Args:
        adapter: Added to its weights; None for the model as published.

    Raises:
        SettingsError: The weights of the model or of the adapter differ from their digests.
    """

    def __init__(self, adapter: Adapter | None = None) -> None:
        weights = minilm_weights()
        if adapter is not None:
            weights = _with_adapter(weights, adapter_tensors(adapter), read_shape(adapter.folder))
        self._session = _session(_arrange_weights(weights))

    def states(
        self, ids: Sequence[Sequence[int]], types: Sequence[Sequence[int]]
    ) -> NDArray[np.float32]:
        """Return the last states of texts of one length, shape (n_texts, n_tokens, 384)."""
        import numpy as np

        inputs = {"ids": np.array(ids, dtype=np.int64), "types": np.array(types, dtype=np.int64)}
        states: Any = self._session.run(None, inputs)[0]
        return states


class MiniLMTexts:
    """Texts as vectors: the mean of a text's states, of length 1."""

    def __init__(self) -> None:
        self._model = MiniLM()
        self._tokenizer = tokenizer(LONGEST_TEXT)
        ids = map(self._tokenizer.token_to_id, _SPECIAL)
        self._special = [one for one in ids if one is not None]

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text that are read."""
        return [len(one.ids) for one in self._tokenizer.encode_batch([t.strip() for t in texts])]

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of texts of one length in tokens, shape (n_texts, 384)."""
        return self._states([self._tokenizer.encode(text.strip()) for text in texts]).mean(axis=1)

    def vector_and_tokens(self, text: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the vector of a text, and those of its tokens but the special ones."""
        import numpy as np

        read = self._tokenizer.encode(text.strip())
        states = self._states([read])[0]
        return states.mean(axis=0), states[~np.isin(read.ids, self._special)]

    def _states(self, read: Sequence[Encoding]) -> NDArray[np.float32]:
        return self._model.states([one.ids for one in read], [one.type_ids for one in read])


@functools.cache
def minilm_texts() -> MiniLMTexts:
    """Load one a process: nothing in it changes."""
    return MiniLMTexts()


class MiniLMPairs:
    """A verifier: an adapter, with a linear head over a pair's first state and the mean of all."""

    def __init__(self, adapter: Adapter) -> None:
        self._shape = read_shape(adapter.folder)
        tensors = adapter_tensors(adapter)
        self._weight, self._bias = tensors["head.weight"], tensors["head.bias"]
        self._model = MiniLM(adapter)
        self._tokenizer = tokenizer(self._shape.n_tokens)
        # Judged text is plain text, even where it spells one of the model's own marks.
        self._tokenizer.encode_special_tokens = True

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Return the probability of each label for claims and passages, shape (n_pairs, n_labels).

        One pair at a time: the last digits do not depend on the other pairs.
        """
        import numpy as np

        rows = list(cores().map(self._shares, pairs))
        return np.array(rows).reshape(len(rows), len(self._shape.labels))

    def _shares(self, pair: tuple[str, str]) -> NDArray[np.float64]:
        import numpy as np
        from scipy.special import softmax

        claim, passage = pair
        if self._shape.reads == "closest_first":
            passage = with_closest(claim, passage)
        # An empty passage leaves one text, as in training.
        read = self._tokenizer.encode(claim, passage.strip() or None)
        states = self._model.states([read.ids], [read.type_ids])[0]
        pooled = np.concatenate([states[0], states.mean(axis=0)])
        logits = (self._weight @ pooled + self._bias) / np.float32(self._shape.temperature)
        return softmax(logits.astype(np.float64))


def tokenizer(n_tokens: int) -> Tokenizer:
    """Return the model's tokenizer; the longer text of a pair that is too long is cut."""
    from tokenizers import Tokenizer

    found = Tokenizer.from_file(str(minilm_folder() / "tokenizer.json"))
    found.no_padding()
    found.enable_truncation(n_tokens, strategy="longest_first")
    return found


def adapter_tensors(adapter: Adapter) -> dict[str, NDArray[np.float32]]:
    """Read an adapter, in single precision.

    Raises:
        SettingsError: Its weights differ from their digest.
    """
    import numpy as np
    from safetensors.numpy import load_file

    path: Path = adapter.folder / WEIGHTS
    check_digest(path, read_shape(adapter.folder).weights_sha256)
    return {name: rows.astype(np.float32) for name, rows in load_file(path).items()}


@functools.cache
def minilm_weights() -> dict[str, NDArray[np.float32]]:
    """Read the packaged weights, by their published names, in single precision.

    Raises:
        SettingsError: They differ from their digests.
    """
    import numpy as np
    from safetensors.numpy import load_file

    parts: dict[str, list[NDArray[np.float16]]] = {}
    for file, digest in MINILM_PARTS.items():
        check_digest(minilm_folder() / file, digest)
        for name, rows in load_file(minilm_folder() / file).items():
            parts.setdefault(name, []).append(rows)
    # A large matrix goes on in the next file.
    return {name: np.concatenate(rows, dtype=np.float32) for name, rows in parts.items()}


def _with_adapter(
    weights: Mapping[str, NDArray[np.float32]],
    tensors: Mapping[str, NDArray[np.float32]],
    shape: Shape,
) -> dict[str, NDArray[np.float32]]:
    """Return weights with the products of an adapter's matrices added."""
    import numpy as np

    found = dict(weights)
    for name in (key.removesuffix(".a") for key in tensors if key.endswith(".a")):
        change = shape.scale * (tensors[f"{name}.b"] @ tensors[f"{name}.a"])
        found[f"{name}.weight"] = np.add(found[f"{name}.weight"], change, dtype=np.float32)
    return found


def _arrange_weights(weights: Mapping[str, NDArray[np.float32]]) -> dict[str, NDArray[np.float32]]:
    """Return weights under the names and in the shapes that the graph asks for."""
    import numpy as np

    found: dict[str, NDArray[np.float32]] = {}
    for name, rows in weights.items():
        if name.startswith("pooler."):
            continue
        is_layer = name.startswith("encoder.") and rows.ndim == 2
        found[name] = np.ascontiguousarray(rows.T) if is_layer else rows
    for layer in range(N_LAYERS):
        place = f"encoder.layer.{layer}.attention.self"
        parts = [found.pop(f"{place}.{one}.bias") for one in _PROJECTIONS]
        found[f"{place}.bias"] = np.concatenate(parts, dtype=np.float32)
    return found


def _session(weights: Mapping[str, NDArray[np.float32]]) -> InferenceSession:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # Each text on one core: splitting a small model's pass costs more than it saves.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    values = {
        name: onnxruntime.OrtValue.ortvalue_from_numpy(rows) for name, rows in weights.items()
    }
    options.add_external_initializers(list(values), list(values.values()))
    graph = files("ragassay.models").joinpath("minilm.onnx").read_bytes()
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])

"""Run the packaged all-MiniLM-L6-v2 on ONNX Runtime, without importing torch.

The graph `minilm.onnx` (from `python -m training.encoder_graph`) contains no weights. The weights
are stored separately in float16 (from `python -m training.encoder_weights`). Adapters are added to
the weights before a session is created. All computations use float32.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragassay.models.adapters import WEIGHTS, Adapter, Shape, read_shape
from ragassay.models.weights import MINILM_PARTS, check_digest, locate_minilm
from ragassay.process import get_core_pool
from ragassay.text.search import insert_closest_sentence

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

N_LAYERS = 6
LONGEST_TEXT = 256
"""Maximum number of tokens read from a text, from the model's configuration."""

_PROJECTIONS = ("query", "key", "value")
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


class MiniLM:
    """MiniLM encoder that runs on one core in the calling thread. Thread-safe.

    An adapter, if there is one, is merged into the weights. Raises `SettingsError` if weights do
    not match their digests.
    """

    def __init__(self, adapter: Adapter | None = None) -> None:
        weights = read_minilm_weights()
        if adapter is not None:
            weights = _merge_adapter(
                weights, read_adapter_tensors(adapter), read_shape(adapter.folder)
            )
        self._session = _create_session(_arrange_weights(weights))

    def compute_states(
        self, ids: Sequence[Sequence[int]], types: Sequence[Sequence[int]]
    ) -> NDArray[np.float32]:
        """Return the last hidden states of texts of equal length, (n_texts, n_tokens, 384)."""
        import numpy as np

        inputs = {"ids": np.array(ids, dtype=np.int64), "types": np.array(types, dtype=np.int64)}
        states: Any = self._session.run(None, inputs)[0]
        return states


class MiniLMTexts:
    """Embedder that represents a text by the mean of its last hidden states."""

    def __init__(self) -> None:
        self._model = MiniLM()
        self._tokenizer = load_tokenizer(LONGEST_TEXT)
        ids = map(self._tokenizer.token_to_id, _SPECIAL)
        self._special = [token for token in ids if token is not None]

    def count_text_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens read from each text."""
        encodings = self._tokenizer.encode_batch([text.strip() for text in texts])
        return [len(encoding.ids) for encoding in encodings]

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return embeddings of texts with equal token counts, shape (n_texts, 384)."""
        return self._compute_states([self._tokenizer.encode(text.strip()) for text in texts]).mean(
            axis=1
        )

    def embed_text_and_tokens(self, text: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the embeddings of a text and of its tokens, without special tokens."""
        import numpy as np

        encoding = self._tokenizer.encode(text.strip())
        states = self._compute_states([encoding])[0]
        return states.mean(axis=0), states[~np.isin(encoding.ids, self._special)]

    def _compute_states(self, encodings: Sequence[Encoding]) -> NDArray[np.float32]:
        return self._model.compute_states(
            [e.ids for e in encodings], [e.type_ids for e in encodings]
        )


@functools.cache
def load_minilm_texts() -> MiniLMTexts:
    """Return the embedder of this process."""
    return MiniLMTexts()


class MiniLMPairs:
    """Verifier with a linear head on the first hidden state and the mean of all states."""

    def __init__(self, adapter: Adapter) -> None:
        self._shape = read_shape(adapter.folder)
        tensors = read_adapter_tensors(adapter)
        self._weight, self._bias = tensors["head.weight"], tensors["head.bias"]
        self._model = MiniLM(adapter)
        self._tokenizer = load_tokenizer(self._shape.n_tokens)
        # Evaluated text is plain text, even if it contains the model's special tokens.
        self._tokenizer.encode_special_tokens = True

    def predict_probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Return label probabilities of claim-passage pairs, shape (n_pairs, n_labels).

        Pairs are computed one by one, so that results do not depend on the batch.
        """
        import numpy as np

        rows = list(get_core_pool().map(self._predict_shares, pairs))
        return np.array(rows).reshape(len(rows), len(self._shape.labels))

    def _predict_shares(self, pair: tuple[str, str]) -> NDArray[np.float64]:
        import numpy as np
        from scipy.special import softmax

        claim, passage = pair
        if self._shape.reads == "closest_first":
            passage = insert_closest_sentence(claim, passage)
        # If there is no passage, the input is a single text, as in training.
        encoding = self._tokenizer.encode(claim, passage.strip() or None)
        states = self._model.compute_states([encoding.ids], [encoding.type_ids])[0]
        pooled = np.concatenate([states[0], states.mean(axis=0)])
        logits = (self._weight @ pooled + self._bias) / np.float32(self._shape.temperature)
        return softmax(logits.astype(np.float64))


def load_tokenizer(n_tokens: int) -> Tokenizer:
    """Return the model's tokenizer, which truncates the longer text of a pair first."""
    from tokenizers import Tokenizer

    found = Tokenizer.from_file(str(locate_minilm() / "tokenizer.json"))
    found.no_padding()
    found.enable_truncation(n_tokens, strategy="longest_first")
    return found


def read_adapter_tensors(adapter: Adapter) -> dict[str, NDArray[np.float32]]:
    """Read an adapter as float32. Raises `SettingsError` if the adapter's digest is wrong."""
    import numpy as np
    from safetensors.numpy import load_file

    path: Path = adapter.folder / WEIGHTS
    check_digest(path, read_shape(adapter.folder).weights_sha256)
    return {name: rows.astype(np.float32) for name, rows in load_file(path).items()}


@functools.cache
def read_minilm_weights() -> dict[str, NDArray[np.float32]]:
    """Read the packaged weights as float32. Raises `SettingsError` if a digest is wrong."""
    import numpy as np
    from safetensors.numpy import load_file

    parts: dict[str, list[NDArray[np.float16]]] = {}
    for file, digest in MINILM_PARTS.items():
        check_digest(locate_minilm() / file, digest)
        for name, rows in load_file(locate_minilm() / file).items():
            parts.setdefault(name, []).append(rows)
    # Large matrices are split across files.
    return {name: np.concatenate(rows, dtype=np.float32) for name, rows in parts.items()}


def _merge_adapter(
    weights: Mapping[str, NDArray[np.float32]],
    tensors: Mapping[str, NDArray[np.float32]],
    shape: Shape,
) -> dict[str, NDArray[np.float32]]:
    import numpy as np

    found = dict(weights)
    for name in (key.removesuffix(".a") for key in tensors if key.endswith(".a")):
        change = shape.scale * (tensors[f"{name}.b"] @ tensors[f"{name}.a"])
        found[f"{name}.weight"] = np.add(found[f"{name}.weight"], change, dtype=np.float32)
    return found


def _arrange_weights(weights: Mapping[str, NDArray[np.float32]]) -> dict[str, NDArray[np.float32]]:
    import numpy as np

    found: dict[str, NDArray[np.float32]] = {}
    for name, rows in weights.items():
        if name.startswith("pooler."):
            continue
        is_layer = name.startswith("encoder.") and rows.ndim == 2
        found[name] = np.ascontiguousarray(rows.T) if is_layer else rows
    for layer in range(N_LAYERS):
        prefix = f"encoder.layer.{layer}.attention.self"
        biases = [found.pop(f"{prefix}.{projection}.bias") for projection in _PROJECTIONS]
        found[f"{prefix}.bias"] = np.concatenate(biases, dtype=np.float32)
    return found


def _create_session(weights: Mapping[str, NDArray[np.float32]]) -> InferenceSession:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # One core per text, because splitting a small forward pass costs more than it saves.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    values = {
        name: onnxruntime.OrtValue.ortvalue_from_numpy(rows) for name, rows in weights.items()
    }
    options.add_external_initializers(list(values), list(values.values()))
    graph = files("ragassay.models").joinpath("minilm.onnx").read_bytes()
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])

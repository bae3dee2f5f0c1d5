"""Verifiers that compute scores: AlignScore, SummaC and BioACE's classifiers (4.1.3, 4.2).

The packages of AlignScore and SummaC need outdated libraries (numpy 1, transformers 4). The
formulas of AlignScore and SummaC are in `ragassay.metrics.papers.verifier_scores`. Sentences are
split by ragassay, not by NLTK.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ragassay.errors import SettingsError
from ragassay.metrics.papers.verifier_scores import (
    align_score,
    split_chunks,
    summac_conv,
    summac_zs,
)
from ragassay.models.entailment import CONTRADICTS, NEUTRAL, SUPPORTS, EntailmentModel, Pair
from ragassay.models.hosting import run_on_host
from ragassay.models.weights import (
    LazyModel,
    compute_sha256,
    guard_loading,
    hash_folder,
    load_pretrained,
    on_device,
    read_config,
)
from ragassay.records import UnsupportedSpan
from ragassay.text.sentences import extract_sentences

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

N_DOCUMENT_SENTENCES = 100
"""Maximum number of document sentences in SummaC."""

SHORTEST = 10
"""SummaC ignores sentences with at most this number of characters."""


class Scorer(Protocol):
    """Model that scores a claim against a passage."""

    name: str
    digest: str

    def score(self, claim: str, passage: str) -> float:
        """Return how well the passage supports the claim. Higher is better."""
        ...


class ScoringVerifier:
    """Verifier with two labels that are derived from a score.

    The score is rescaled to [0, 1] with the threshold at 0.5, and returned as the probability of
    support. The remainder is returned as "neutral" and means "not attributable". The resulting
    probabilities are not calibrated.

    Args:
        scale: Lowest and highest possible score.
        threshold: Minimum score of an attributable claim.
    """

    bounds = ()
    n_labels = 2
    reads_whole = True

    def __init__(self, scorer: Scorer, scale: tuple[float, float], threshold: float) -> None:
        self.name = scorer.name
        self.digest = hashlib.sha256(f"{scorer.digest} {threshold}".encode()).hexdigest()
        self.scorer, self._scale, self._threshold = scorer, scale, threshold

    def predict_probabilities(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return rescaled scores as support, and the remainder as neutral, shape (n_pairs, 3)."""
        import numpy as np

        (low, high), middle = self._scale, self._threshold
        scores = np.array([self.scorer.score(*pair) for pair in pairs])
        found = np.zeros((len(pairs), 3))
        found[:, SUPPORTS] = np.interp(scores, [low, middle, high], [0.0, 0.5, 1.0])
        found[:, NEUTRAL] = 1 - found[:, SUPPORTS]
        return found

    def find_spans(self, claim: str, passage: str) -> tuple[UnsupportedSpan, ...]:
        """Return the unsupported parts of a claim, if the model labels tokens."""
        spans = getattr(self.scorer, "find_spans", None)
        return spans(claim, passage) if spans else ()


class SummaC:
    """SummaC with any NLI model (Laban et al. 2022).

    Premises are passage sentences, and hypotheses are claim sentences.

    Args:
        model: NLI model. The published weights were trained on the outputs of a VitaminC model.
        weights: File with the weights of the trained convolution. None for SummaC-ZS.
    """

    def __init__(self, model: EntailmentModel, weights: Path | None = None) -> None:
        kind = "summac-conv" if weights else "summac-zs"
        self.name = f"{kind} by {model.name}"
        digest = compute_sha256(weights) if weights else ""
        self.digest = hashlib.sha256(f"{kind} {model.digest} {digest}".encode()).hexdigest()
        self._model, self._weights = model, _read_convolution(weights) if weights else None

    def score(self, claim: str, passage: str) -> float:
        """Return the score, in [-1, 1] for SummaC-ZS and in [0, 1] for SummaC-Conv."""
        import numpy as np

        document = _drop_short(passage.split("\n"))[:N_DOCUMENT_SENTENCES]
        claims = _drop_short(extract_sentences(claim))
        # NLI models read a passage as a title, which is empty here, and sentences.
        pairs = [(claim_text, f"\n{sentence}") for sentence in document for claim_text in claims]
        shares = self._model.predict_probabilities(pairs) if pairs else np.zeros((0, 3))
        image = shares.reshape(len(document), len(claims), 3)
        if self._weights is not None:
            return summac_conv(image[..., SUPPORTS], self._weights)
        return summac_zs(image[..., SUPPORTS], image[..., CONTRADICTS])


def _drop_short(sentences: Sequence[str]) -> list[str]:
    return [sentence for sentence in sentences if len(sentence.strip()) > SHORTEST]


def _read_convolution(path: Path) -> dict[str, NDArray[np.float64]]:
    weights = {key: value.double().numpy() for key, value in read_checkpoint(path).items()}
    shapes = {key: weights[key].shape for key in sorted(weights)}
    expected = {
        "layer_final.bias": (2,),
        "layer_final.weight": (2, 3),
        "mlp.bias": (1,),
        "mlp.weight": (1, 23),
    }
    if shapes != expected:
        raise SettingsError(
            f"{path} contains the tensor shapes {shapes}, but SummaC-Conv requires {expected}"
        )
    return weights


class AlignScore:
    """AlignScore with the "aligned" label of the three-class head (nli_sp).

    Args:
        checkpoint: Published checkpoint with the weights of the encoder and the head.
        base: Encoder that provides the configuration and the tokenizer, but not the weights.

    Raises:
        OSError: The base model is unavailable.
    """

    def __init__(self, checkpoint: Path, base: str) -> None:
        self._config = read_config(base)
        self.name = f"alignscore of {checkpoint.name}"
        self.digest, self.made_of = compute_sha256(checkpoint), (checkpoint, base)
        self._checkpoint, self._base = checkpoint, base
        self.model = LazyModel(self._load)

    @run_on_host
    def score(self, claim: str, passage: str) -> float:
        """Return the AlignScore of a claim and a passage, in [0, 1]."""
        import numpy as np

        document = [line for line in passage.split("\n") if line.strip()]
        chunks, claims = split_chunks(document), extract_sentences(claim)
        found = [
            [self._align_chunk(chunk, claim_text) for claim_text in claims] for chunk in chunks
        ]
        return align_score(np.array(found).reshape(len(chunks), len(claims)))

    def _align_chunk(self, chunk: str, claim_text: str) -> float:
        with self.model.lend() as (tokenizer, encoder, head):
            n_claim_tokens = len(tokenizer(claim_text, split_special_tokens=True).input_ids)
            is_short = n_claim_tokens < tokenizer.model_max_length // 2
            cut = "only_first" if is_short else "longest_first"
            tokens = tokenizer(
                chunk, claim_text, truncation=cut, split_special_tokens=True, return_tensors="pt"
            )
            pooled = encoder(**tokens.to(encoder.device)).pooler_output
            return float(head(pooled)[0].softmax(-1)[0])

    def _load(self) -> tuple[Any, Any, Any]:
        import torch
        from transformers import AutoModel, AutoTokenizer

        weights = read_checkpoint(self._checkpoint)
        parts = {
            name: {
                key.partition(".")[2]: w for key, w in weights.items() if key.startswith(f"{name}.")
            }
            for name in ("base_model", "tri_layer")
        }
        with guard_loading(self._base):
            tokenizer = AutoTokenizer.from_pretrained(self._base, trust_remote_code=False)
            encoder = AutoModel.from_config(self._config)
        head = torch.nn.Linear(self._config.hidden_size, 3)
        try:
            left_out = encoder.load_state_dict(parts["base_model"], strict=False).missing_keys
            head.load_state_dict(parts["tri_layer"])
        except RuntimeError as error:
            raise self._build_misfit_error(str(error).partition("\n")[2].strip()) from error
        # Older checkpoints contain position ids, which newer models compute.
        if any("position_ids" not in key for key in left_out):
            raise self._build_misfit_error(f"{left_out[0]} is missing")
        return tokenizer, on_device(encoder), on_device(head)

    def _build_misfit_error(self, problem: str) -> SettingsError:
        return SettingsError(
            f"{self._checkpoint} is not an AlignScore checkpoint for {self._base}: {problem[:200]}"
        )


class AnswerEvidence:
    """Correctness classifier fine-tuned as in BioACE with BERT or RoBERTa (section 4.1.3).

    The input is a single text with the answer sentence and the evidence, formatted as in BioACE's
    published code. The second of the two classes is "correct".

    Raises:
        OSError: The model is unavailable.
        SettingsError: The model does not have two classes.
    """

    def __init__(self, name: str) -> None:
        n_classes = read_config(name).num_labels
        if n_classes != 2:
            raise SettingsError(f"{name} has {n_classes} classes, but 2 are required")
        self.name, self.digest = f"bioace-correctness by {name}", hash_folder(name)
        self.made_of = (name,)
        self.model = LazyModel(lambda: load_pretrained("AutoModelForSequenceClassification", name))

    @run_on_host
    def score(self, claim: str, passage: str) -> float:
        """Return the probability of "correct"."""
        text = f"ANSWER: {claim} EVIDENCE: {' '.join(passage.split())}"
        with self.model.lend() as (tokenizer, model):
            longest = min(512, tokenizer.model_max_length)
            tokens = tokenizer(
                text,
                truncation=True,
                max_length=longest,
                split_special_tokens=True,
                return_tensors="pt",
            )
            return float(model(**tokens.to(model.device)).logits[0].softmax(-1)[1])


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Read tensors without running code.

    Raises `SettingsError` if the file contains objects other than tensors.
    """
    from pickle import UnpicklingError

    import torch

    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except UnpicklingError as error:
        raise SettingsError(
            f"{path} is not a tensor checkpoint: it contains objects that could run code"
        ) from error
    except (OSError, RuntimeError, EOFError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise SettingsError(f"{path} is not a tensor checkpoint: {reason}") from error
    return found.get("state_dict", found)


def fetch_weights_file(name: str) -> Path:
    """Return the path of a weights file, and download it if it is OWNER/REPOSITORY/FILE.

    Raises `SettingsError` if the file does not exist.
    """
    path = Path(name)
    if path.is_file():
        return path
    owner, _, rest = name.partition("/")
    repository, _, file = rest.partition("/")
    if not file or path.is_absolute():
        raise SettingsError(
            f"there is no file {name}; pass the path of the weights, or OWNER/REPOSITORY/FILE for "
            "a file on Hugging Face"
        )
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(hf_hub_download(f"{owner}/{repository}", file))
    except (OSError, HfHubHTTPError, HFValidationError, LocalEntryNotFoundError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise SettingsError(f"cannot download the weights {name}: {reason}") from error

"""The fact checkers MiniCheck, HHEM and LettuceDetect, run as in their published code.

Prompts, labels, chunk sizes and thresholds are in `ragassay/prompts/fact_checkers.yaml`. No code
from model repositories is run. Sentences are split by ragassay instead of NLTK.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from ragassay.errors import SettingsError
from ragassay.metrics.papers.verifier_scores import fill_chunks
from ragassay.models.availability import explain_missing_checker, read_fetched
from ragassay.models.hosting import run_on_host
from ragassay.models.scorers import fetch_weights_file
from ragassay.models.weights import (
    LazyModel,
    check_hub,
    guard_loading,
    hash_folder,
    load_pretrained,
    on_device,
    read_config,
)
from ragassay.prompts.model_forms import CheckerForm, load_verifier_kinds
from ragassay.prompts.texts import fill_around_passage
from ragassay.records import UnsupportedSpan

HHEM_FILE = "model.safetensors"

N_CACHED = 256
"""Number of pairs whose spans are cached."""


@dataclass(frozen=True)
class CheckerSource:
    """Hugging Face id or folder of a model, with the SHA-256 of its weights if known."""

    name: str
    place: str
    digest: str = ""


def open_checker(kind: str, model: str, cache_dir: Path) -> MiniCheck | Hhem | LettuceDetect:
    """Open a fact checker. The weights are loaded on the first call to `score`.

    Args:
        kind: Kind of fact checker in `fact_checkers.yaml`: minicheck, hhem or lettucedetect.
        model: Hugging Face id or folder. For HHEM, FOLDER@BASE also specifies the base model.
        cache_dir: Folder with the records of downloaded models.

    Raises:
        OSError: The model is unavailable.
        SettingsError: The model does not have the architecture of the named fact checker.
    """
    facts = load_verifier_kinds().facts
    name, _, beside = model.partition("@")
    fetched = read_fetched(name, cache_dir)
    if fetched is None:
        _check_reach(name)
    place = fetched.folder if fetched else name
    digest = fetched.digest if fetched else hash_folder(name)
    source = CheckerSource(name if facts.find_published(name) else f"{kind}:{name}", place, digest)
    if kind == "minicheck":
        return MiniCheck(source)
    if kind == "lettucedetect":
        return LettuceDetect(source)
    base = beside or (fetched.base_folder if fetched else "") or facts.checkers[kind].beside
    file = Path(place) / HHEM_FILE
    if not Path(place).exists():
        try:
            file = fetch_weights_file(f"{place}/{HHEM_FILE}")
        except SettingsError as error:
            raise SettingsError(explain_missing_checker(name)) from error
    return Hhem(replace(source, place=str(file)), base)


class MiniCheck:
    """MiniCheck (Tang et al. 2024), which reads the passage and the claim as one text.

    The score is the probability of "supported" for the best chunk of the passage. If claim and
    chunk are too long together, the chunk is truncated, whereas MiniCheck's own code truncates the
    claim.

    Raises:
        OSError: The model is unavailable.
        SettingsError: The model has another architecture.
    """

    def __init__(self, source: CheckerSource) -> None:
        self._form, self._is_writer = _read_form("minicheck", source)
        self.name, self.digest, self.made_of = source.name, source.digest, (source,)
        kind = "AutoModelForSeq2SeqLM" if self._is_writer else "AutoModelForSequenceClassification"
        self.model = LazyModel(lambda: load_pretrained(kind, source.place, "float32"))

    @run_on_host
    def score(self, claim: str, passage: str) -> float:
        """Return the probability that the passage supports the claim."""
        form = self._form
        with self.model.lend() as (tokenizer, model):

            def measure_length(sentence: str) -> int:
                if form.unit == "words":
                    return len(sentence.split())
                return _count_tokens(tokenizer, sentence, add_special_tokens=False)

            lines = [_break_special(line, tokenizer) for line in passage.split("\n") if line]
            chunks = fill_chunks(lines, form.chunk, measure_length)
            return max(self._score_chunk(chunk, claim, tokenizer, model) for chunk in chunks)

    def _score_chunk(self, chunk: str, claim: str, tokenizer: Any, model: Any) -> float:
        import torch

        tokens = _tokenize_pair(tokenizer, self._form, claim, chunk).to(model.device)
        first = {}
        if self._is_writer:
            first["decoder_input_ids"] = torch.zeros((1, 1), dtype=torch.long, device=model.device)
        logits = model(**tokens, **first).logits
        return _compute_share(logits[0, -1] if self._is_writer else logits[0], self._form)


class Hhem:
    """HHEM-2.1-Open (Vectara), a T5 encoder that classifies the first token as consistent or not.

    The weights are loaded into a transformers model, without running code from the repository.

    Args:
        source: Model name, with the path of the weights file.
        base: T5 model that provides the configuration and the tokenizer.

    Raises:
        OSError: The base model is unavailable.
    """

    def __init__(self, source: CheckerSource, base: str) -> None:
        self._config = read_config(base)
        self._form = load_verifier_kinds().facts.checkers["hhem"].forms["t5"]
        self.name, self.digest, self.made_of = source.name, source.digest, (source, base)
        self._file, self._base = Path(source.place), base
        self.model = LazyModel(self._load)

    @run_on_host
    def score(self, claim: str, passage: str) -> float:
        """Return how consistent the claim is with the passage, in [0, 1]."""
        with self.model.lend() as (tokenizer, model):
            premise = _break_special(" ".join(passage.split()), tokenizer)
            tokens = _tokenize_pair(tokenizer, self._form, claim, premise)
            return _compute_share(model(**tokens.to(model.device)).logits[0, 0], self._form)

    def _load(self) -> tuple[Any, Any]:
        from transformers import AutoTokenizer, T5ForTokenClassification

        with guard_loading(self._base):
            tokenizer = AutoTokenizer.from_pretrained(self._base, trust_remote_code=False)
            model: Any = T5ForTokenClassification(self._config)
        try:
            keys = model.load_state_dict(_read_hhem(self._file), strict=False)
        except RuntimeError as error:
            raise self._build_misfit_error(str(error).partition("\n")[2].strip()) from error
        if mismatched := [*keys.missing_keys, *keys.unexpected_keys]:
            raise self._build_misfit_error(mismatched[0])
        return tokenizer, on_device(model)

    def _build_misfit_error(self, problem: str) -> SettingsError:
        return SettingsError(
            f"{self._file} contains no HHEM-2.1-Open weights for {self._base}: {problem[:200]}"
        )


class LettuceDetect:
    """LettuceDetect (Kovacs and Recski 2025), an encoder that labels unsupported claim tokens.

    The score is 1 minus the highest probability that a claim token is unsupported.

    Raises:
        OSError: The model is unavailable.
        SettingsError: The model has another architecture, or is not a binary token classifier.
    """

    def __init__(self, source: CheckerSource) -> None:
        self._form, _ = _read_form("lettucedetect", source)
        self.name, self.digest, self.made_of = source.name, source.digest, (source,)
        self.model = LazyModel(
            lambda: load_pretrained("AutoModelForTokenClassification", source.place, "float32")
        )
        self._examine = lru_cache(N_CACHED)(self._examine_pair)

    @run_on_host
    def score(self, claim: str, passage: str) -> float:
        """Return the support for the least supported claim token, in [0, 1]."""
        return self._examine(claim, passage)[0]

    @run_on_host
    def find_spans(self, claim: str, passage: str) -> tuple[UnsupportedSpan, ...]:
        """Return the unsupported parts of the claim, in order."""
        return self._examine(claim, passage)[1]

    def _examine_pair(self, claim: str, passage: str) -> tuple[float, tuple[UnsupportedSpan, ...]]:
        shares, offsets = self._predict_token_shares(claim, passage)
        return 1 - max(shares, default=0.0), _merge_spans(claim, shares, offsets)

    def _predict_token_shares(
        self, claim: str, passage: str
    ) -> tuple[list[float], list[tuple[int, int]]]:
        text = " ".join(passage.split()).join(fill_around_passage(self._form.text))
        with self.model.lend() as (tokenizer, model):
            tokens = tokenizer(
                text,
                claim,
                # Long passages are truncated at the end.
                truncation="only_first",
                max_length=self._form.n_tokens,
                return_offsets_mapping=True,
                split_special_tokens=True,
                return_tensors="pt",
            )
            offsets = tokens.pop("offset_mapping")[0].tolist()
            parts = tokens.sequence_ids(0)
            shares = model(**tokens.to(model.device)).logits[0].softmax(-1)[:, self._form.labels[0]]
        indices = [n for n, part in enumerate(parts) if part == 1 and offsets[n][0] < offsets[n][1]]
        return [float(shares[n]) for n in indices], [tuple(offsets[n]) for n in indices]


def _merge_spans(
    claim: str, shares: list[float], offsets: list[tuple[int, int]]
) -> tuple[UnsupportedSpan, ...]:
    """Merge adjacent unsupported tokens into spans with the maximum probability of their tokens.

    Many tokenizers include the preceding space in a token, but spans do not contain this space.
    """
    merged: list[tuple[int, int, float]] = []
    was_marked = False
    for share, (start, end) in zip(shares, offsets, strict=True):
        is_marked = share > 0.5
        if is_marked and was_marked:
            first, _, score = merged.pop()
            merged.append((first, end, max(score, share)))
        elif is_marked:
            merged.append((start, end, share))
        was_marked = is_marked
    found: list[UnsupportedSpan] = []
    for start, end, score in merged:
        start += len(claim[start:end]) - len(claim[start:end].lstrip())
        if start < end:
            found.append(UnsupportedSpan(start=start, end=end, score=round(score, 4)))
    return tuple(found)


def _check_reach(name: str) -> None:
    """Check that a model is available.

    The error for a published model explains how to download it.
    """
    try:
        check_hub(name)
    except SettingsError as error:
        if found := load_verifier_kinds().facts.find_published(name):
            raise SettingsError(f"{error}; run `ragassay models get {found[0]}`") from error
        raise


def _read_form(kind: str, source: CheckerSource) -> tuple[CheckerForm, bool]:
    """Return the input format for a model's architecture, and whether it is an encoder-decoder."""
    config = read_config(source.place)
    forms = load_verifier_kinds().facts.checkers[kind].forms
    form = forms.get(config.model_type)
    if form is None:
        raise SettingsError(
            f"{source.name} has the architecture {config.model_type}, but {kind} requires one of "
            f"{', '.join(forms)}"
        )
    is_writer = bool(getattr(config, "is_encoder_decoder", False))
    head = "ForTokenClassification" if kind == "lettucedetect" else "ForSequenceClassification"
    architectures = config.architectures or ()
    is_head = config.num_labels == 2 and all(a.endswith(head) for a in architectures)
    if not is_writer and not is_head:
        raise SettingsError(
            f"{source.name} is not a {kind} model; expected a {head.removeprefix('For')} model "
            "with "
            f"2 classes, found {', '.join(architectures) or 'an unknown architecture'} with "
            f"{config.num_labels} classes"
        )
    return form, is_writer


def _read_hhem(file: Path) -> dict[str, Any]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        weights = {name.removeprefix("t5."): value for name, value in load_file(file).items()}
    except (OSError, SafetensorError) as error:
        raise SettingsError(f"cannot read {file} as safetensors: {error}") from error
    # Both names refer to one tensor, which files store once.
    shared = "transformer.shared.weight", "transformer.encoder.embed_tokens.weight"
    stored = [weights[name] for name in shared if name in weights]
    return {**weights, **({name: stored[0] for name in shared} if stored else {})}


def _break_special(text: str, tokenizer: Any) -> str:
    """Insert a space into special tokens in a text, so that they are read as plain text."""
    for token in tokenizer.all_special_tokens:
        text = text.replace(token, f"{token[:1]} {token[1:]}")
    return text


def _count_tokens(tokenizer: Any, text: str, **options: bool) -> int:
    return len(tokenizer(text, **options).input_ids)


def _tokenize_pair(tokenizer: Any, form: CheckerForm, claim: str, passage: str) -> Any:
    """Return the tokens of a claim and its passage, truncating the passage if needed."""
    claim_text = _break_special(claim, tokenizer)
    before, after = fill_around_passage(form.text, claim=claim_text, end=tokenizer.eos_token)
    excess = _count_tokens(tokenizer, f"{before}{passage}{after}") - form.n_tokens
    if excess > 0:
        encoding = tokenizer(passage, add_special_tokens=False, return_offsets_mapping=True)
        ends = [end for _, end in encoding.offset_mapping][:-excess]
        passage = passage[: ends[-1]] if ends else ""
    return tokenizer(
        f"{before}{passage}{after}",
        truncation=True,
        max_length=form.n_tokens,
        return_tensors="pt",
    )


def _compute_share(logits: Any, form: CheckerForm) -> float:
    return float(logits[list(form.labels)].float().softmax(-1)[1])

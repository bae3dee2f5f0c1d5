"""Ask language models that write on, such as LLaMA: what a reply is likely to start with."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ragassay.models.hosting import computed_by_host
from ragassay.models.hub import loading
from ragassay.models.text2text import Prompt, cut

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class CausalText:
    """A language model of transformers; loaded at the first call, safe across threads.

    It computes in bfloat16 on the GPU where there is one, else in single precision.

    Args:
        name: A name on the hub, or a folder.
        n_tokens: Longest prompt.
    """

    def __init__(self, name: str, n_tokens: int) -> None:
        self.name, self._n_tokens = name, n_tokens
        self.made_of = (name, n_tokens)
        self._loaded: tuple[Any, Any] | None = None
        self._lock = threading.Lock()

    @computed_by_host
    def shares(self, prompts: Sequence[Prompt], words: Sequence[str]) -> NDArray[np.float64]:
        """Return the probability that a reply starts with a word, shape (n_prompts, n_words).

        A row sums to less than 1 where the model would rather say something else.

        Raises:
            SettingsError: The model is unavailable.
        """
        import numpy as np
        import torch

        rows: list[list[float]] = []
        with self._lock, torch.inference_mode():
            tokenizer, model = self._load()
            for prompt in prompts:
                text = cut(tokenizer, prompt, self._n_tokens)
                rows.append([_share(tokenizer, model, text, word) for word in words])
        return np.array(rows).reshape(len(prompts), len(words))

    def _load(self) -> tuple[Any, Any]:
        if self._loaded is None:
            import torch
            from transformers import AutoModelForCausalLM, AutoTokenizer

            device = "cuda" if torch.cuda.is_available() else "cpu"
            dtype = torch.bfloat16 if device == "cuda" else torch.float32
            with loading(self.name):
                tokenizer = AutoTokenizer.from_pretrained(self.name, trust_remote_code=False)
                model: Any = AutoModelForCausalLM.from_pretrained(
                    self.name, dtype=dtype, trust_remote_code=False
                )
            self._loaded = tokenizer, model.eval().to(device)
        return self._loaded


def _share(tokenizer: Any, model: Any, prompt: str, word: str) -> float:
    """Return the probability of a word behind a prompt, all of its tokens together."""
    import torch

    before, told = _tokens(tokenizer, prompt, word)
    tokens = torch.tensor([[*before, *told]], device=model.device)
    logs = model(input_ids=tokens).logits[0].float().log_softmax(-1)
    places = torch.arange(len(before) - 1, len(before) + len(told) - 1)
    return float(logs[places, torch.tensor(told)].sum().exp())


def _tokens(tokenizer: Any, prompt: str, word: str) -> tuple[list[int], list[int]]:
    """Return the tokens of a prompt and of a word behind it, cut where they are when written."""

    def ids(text: str, special: bool) -> list[int]:
        # Judged text is plain text, even where it spells one of the model's own marks.
        return tokenizer(text, add_special_tokens=special, split_special_tokens=True).input_ids

    before, whole = ids(prompt, True), ids(f"{prompt}{word}", True)
    is_cut = whole[: len(before)] == before
    return before, whole[len(before) :] if is_cut else ids(word, False)

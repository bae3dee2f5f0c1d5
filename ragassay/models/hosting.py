"""Models that another process holds: embedders, verifiers, graders and the local judge.

A worker of a cluster has none of its own: one process a machine holds each model once, for all of
its workers. What they compute is the same: what a method is given is computed as it is here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragassay.models.local.replies import Prompt, Reply

Method = TypeVar("Method", bound=Callable[..., Any])


@dataclass(frozen=True)
class Recipe:
    """A model, told to another process.

    Attributes:
        kind: Its class.
        given: The arguments that it is made with.
    """

    kind: type
    given: tuple[Hashable, ...]


@dataclass(frozen=True)
class Encoded:
    """A text as one vector, and as one vector for each of its tokens in context.

    Attributes:
        vector: Of length 1, shape (n_dimensions,).
        tokens: Each of length 1, shape (n_tokens, n_dimensions), without the model's special
            tokens.
    """

    vector: NDArray[np.float32]
    tokens: NDArray[np.float32]


class ModelHost(Protocol):
    """Computes with models of another process."""

    def encode(self, embedder: str, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Return a vector for each text, as `Embedder.encode` does."""
        ...

    def encode_tokens(self, embedder: str, texts: Sequence[str]) -> list[Encoded]:
        """Return each text's vector and those of its tokens."""
        ...

    def compute(self, recipe: Recipe, method: str, given: Sequence[Any]) -> Any:
        """Return what a model's method returns; see `computed_by_host`."""
        ...

    def reply(self, model: str, cache_dir: Path, dtype: str, prompt: Prompt) -> Future[Reply]:
        """Return what the local judge will reply."""
        ...


_HOST: ModelHost | None = None


def current_host() -> ModelHost | None:
    """Return what computes for this process; None where it has its own models."""
    return _HOST


@contextmanager
def hosted(host: ModelHost | None) -> Iterator[None]:
    """Have another process compute for this one, in all of its threads, while it is open."""
    global _HOST
    before, _HOST = _HOST, host
    try:
        yield
    finally:
        _HOST = before


def computed_by_host(method: Method) -> Method:
    """Have a model's method computed by the process that holds models, where there is one.

    It takes its arguments by position. The model's attribute `made_of` has the arguments that it is
    made with there.
    """

    @functools.wraps(method)
    def computed(self: Any, *given: Any) -> Any:
        host = current_host()
        if host is None:
            return method(self, *given)
        return host.compute(Recipe(type(self), self.made_of), method.__name__, given)

    return cast(Method, computed)

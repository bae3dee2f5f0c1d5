"""Models that another process holds: embedders, verifiers, graders and the local judge.

A worker of a cluster has none of its own: one process a machine holds each model once, for all of
its workers. What they compute is the same: what a method is given is computed as it is here.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Method = TypeVar("Method", bound=Callable[..., Any])


@dataclass(frozen=True)
class Recipe:
    """A model, told to another process: its class, or what builds it, and the arguments."""

    kind: Callable[..., Any]
    arguments: tuple[Hashable, ...]


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

    def submit(self, recipe: Recipe, method: str, arguments: Sequence[Any]) -> Future[Any]:
        """Return what a model's method will return; its error is the one of a local run."""
        ...


_HOST: ModelHost | None = None


def current_host() -> ModelHost | None:
    """Return what computes for this process; None where it has its own models."""
    return _HOST


@contextmanager
def use_host(host: ModelHost | None) -> Iterator[None]:
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
    def compute_by_host(self: Any, *arguments: Any) -> Any:
        host = current_host()
        if host is None:
            return method(self, *arguments)
        return host.submit(Recipe(type(self), self.made_of), method.__name__, arguments).result()

    return cast(Method, compute_by_host)


_MAKING = threading.Lock()
_MADE: dict[Recipe, Any] = {}


def own_model(recipe: Recipe) -> Any:
    """Return a model of this process, made once, however many threads ask for it at once."""
    with _MAKING:
        if recipe not in _MADE:
            _MADE[recipe] = recipe.kind(*recipe.arguments)
        return _MADE[recipe]


class OwnModels:
    """The models of this process, for others."""

    def compute(self, recipe: Recipe, method: str, arguments: Sequence[Any]) -> Any:
        """Return what a model's method returns, or its future's result."""
        found = getattr(own_model(recipe), method)(*arguments)
        return found.result() if isinstance(found, Future) else found

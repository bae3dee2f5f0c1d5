"""Models that run in another process: embedders, verifiers, graders and the local judge.

On a cluster, one process per machine loads each model once and computes for all workers. The
results are the same as in a single process.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Method = TypeVar("Method", bound=Callable[..., Any])


@dataclass(frozen=True)
class Recipe:
    """Description of a model for another process: a class or factory, and its arguments."""

    kind: Callable[..., Any]
    arguments: tuple[Hashable, ...]


@dataclass(frozen=True)
class Encoded:
    """Unit vectors of a text, shape (n,), and of its tokens, shape (n_tokens, n)."""

    vector: NDArray[np.float32]
    tokens: NDArray[np.float32]


ModelHost = Callable[[Recipe, str, Sequence[Any]], "Future[Any]"]
"""Function that calls a method of a model in another process.

The future raises the same errors as a local call.
"""

_HOST: ModelHost | None = None


def get_current_host() -> ModelHost | None:
    """Return the host of this process, or None if this process loads its own models."""
    return _HOST


@contextmanager
def use_host(host: ModelHost | None) -> Iterator[None]:
    """Send the model calls of all threads to a host while the context is active."""
    global _HOST
    before, _HOST = _HOST, host
    try:
        yield
    finally:
        _HOST = before


def run_on_host(method: Method) -> Method:
    """Decorate a model method so that it runs on the current host, if there is one.

    The arguments of the method must be positional. The model's attribute `made_of` contains the
    arguments for constructing the model on the host.
    """

    @functools.wraps(method)
    def compute_by_host(self: Any, *arguments: Any) -> Any:
        host = get_current_host()
        if host is None:
            return method(self, *arguments)
        return host(Recipe(type(self), self.made_of), method.__name__, arguments).result()

    return cast(Method, compute_by_host)


_LOCK = threading.Lock()
_MODELS: dict[Recipe, Any] = {}


def load_own_model(recipe: Recipe) -> Any:
    """Return a model in this process, which is constructed once and shared by all threads."""
    with _LOCK:
        if recipe not in _MODELS:
            _MODELS[recipe] = recipe.kind(*recipe.arguments)
        return _MODELS[recipe]


class OwnModels:
    """Models in this process that serve calls from other processes."""

    def compute(self, recipe: Recipe, method: str, arguments: Sequence[Any]) -> Any:
        """Call a method of a model, and return its result or the result of the returned future."""
        result = getattr(load_own_model(recipe), method)(*arguments)
        return result.result() if isinstance(result, Future) else result

"""Read a fitted nugget matcher from its file."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from ragassay.errors import SettingsError, first_problem
from ragassay.records import NuggetMatcher
from ragassay.small_files import read_small


def opened_matcher(path: str, embedder: str) -> NuggetMatcher | None:
    """Return a matcher written by `ragassay nuggets fit`; None without a path.

    Args:
        path: The file.
        embedder: Name of the embedding model in use.

    Raises:
        SettingsError: The file is missing, is not a matcher, or was fitted with another embedding
            model.
    """
    if not path:
        return None
    try:
        matcher = NuggetMatcher.model_validate_json(read_small(Path(path)))
    except OSError as error:
        raise SettingsError(f"nugget_matcher: {path} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        where, problem = first_problem(error)
        raise SettingsError(
            f"nugget_matcher: {path} is not a matcher of `ragassay nuggets fit`: "
            f"{where or 'the file'}: {problem}"
        ) from error
    if matcher.embedder != embedder:
        raise SettingsError(
            f"nugget_matcher: {path} was fitted to similarities of {matcher.embedder}, and the "
            f"embedder is {embedder}: fit again, or set embedder"
        )
    return matcher

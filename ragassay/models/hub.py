"""Models of Hugging Face's hub, or in folders of the same form."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ragassay.errors import SettingsError
from ragassay.models.quiet import quiet_loading


@contextmanager
def loading(name: str) -> Iterator[None]:
    """Load a model without chatter, and say in one line where it cannot be had.

    Raises:
        SettingsError: There is no such model, here or on the hub, or it has no form that is known.
    """
    try:
        with quiet_loading():
            yield
    except (OSError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise SettingsError(f"the model {name} cannot be had: {reason}") from error

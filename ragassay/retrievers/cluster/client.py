"""The connection to an index of a cluster, and its errors in plain words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragassay.errors import CorpusError, InputError
from ragassay.extras import need

if TYPE_CHECKING:
    from opensearchpy import OpenSearch


_N_CONNECTIONS = 64
"""Kept open to each host: as many as an evaluation may search at once."""


@dataclass(frozen=True)
class Cluster:
    """An index of a cluster, and the client that reaches it. Safe across threads.

    Attributes:
        client: The client.
        index: Name of the index, or of an alias of one.
    """

    client: OpenSearch
    index: str

    def settings(self) -> dict[str, Any]:
        """Return the index's settings, its `uuid` among them.

        Raises:
            CorpusError: The cluster cannot be reached, refuses, or has no one index of this name.
        """
        with self.explained():
            found = self.client.indices.get_settings(index=self.index)
        if len(found) != 1:
            raise CorpusError(f"{self.index!r} is an alias of {len(found)} indices: name one")
        return next(iter(found.values()))["settings"]["index"]

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn the client's errors into a `CorpusError` that says what to do.

        Raises:
            CorpusError: The client raised something.
        """
        from opensearchpy import exceptions

        try:
            yield
        except exceptions.ConnectionError as error:
            raise CorpusError(
                f"cannot reach the cluster: check its address and the network ({error})"
            ) from error
        except exceptions.NotFoundError as error:
            raise CorpusError(
                f"the cluster has no index {self.index!r}: make it with `ragassay corpus build "
                "FILES --out https://HOST:PORT/INDEX`"
            ) from error
        except exceptions.OpenSearchException as error:
            raise CorpusError(f"the cluster refuses: {error}") from error


def connect(
    hosts: str | Sequence[str],
    index: str,
    *,
    auth: tuple[str, str] | None = None,
    ca_certs: Path | None = None,
    timeout_s: float = 30.0,
) -> Cluster:
    """Connect to an index; nothing is sent yet.

    Args:
        hosts: One or more addresses: "https://search.example.org:9200".
        index: Its name; it need not exist.
        auth: User and password.
        ca_certs: Certificates to trust; None for the usual ones.
        timeout_s: Longest wait for one response.

    Raises:
        ExtraError: opensearch-py is not installed.
        InputError: It rejects the hosts.
    """
    need("opensearchpy")
    from opensearchpy import ImproperlyConfigured, OpenSearch

    options: dict[str, Any] = {"ca_certs": str(ca_certs)} if ca_certs else {}
    try:
        client = OpenSearch(
            hosts=[hosts] if isinstance(hosts, str) else list(hosts),
            http_auth=auth,
            timeout=timeout_s,
            pool_maxsize=_N_CONNECTIONS,
            **options,
        )
    except (ImproperlyConfigured, ValueError) as error:
        shown = re.sub(r"//[^/@]*@", "//***@", repr(hosts))
        raise InputError(f"hosts={shown} cannot be connected to: {error}") from error
    return Cluster(client, index)

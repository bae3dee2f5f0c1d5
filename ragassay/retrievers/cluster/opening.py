"""Open the index that a user names by its address, and choose how it is searched."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ragassay.errors import InputError, SettingsError
from ragassay.retrievers.cluster.corpus import ClusterCorpus
from ragassay.retrievers.cluster.nearest import ClusterVectors
from ragassay.retrievers.cluster.vectors import find_maker, maker_of
from ragassay.retrievers.hybrid import HybridCorpus
from ragassay.retrievers.literature import Literature
from ragassay.settings import Settings

if TYPE_CHECKING:
    from ragassay.retrievers.dense.index import NamedEncoder

_URL = re.compile(r"^(https?):/+(?=[^/])", re.IGNORECASE)


def is_address(where: str | Path) -> bool:
    """Return whether a name is an address; a path, in which "//" has become "/", will do."""
    return bool(_URL.match(str(where)))


def shown(where: str | Path) -> str:
    """Return a name without the user and password that an address may have."""
    return re.sub(r"(?<=:/).*@", "/***@", str(where))


def host_and_index(where: str | Path) -> tuple[str, str]:
    """Return host and index of an address.

    Raises:
        InputError: It names no index, or has a password.
    """
    where = str(where)
    try:
        parts = urlsplit(_URL.sub(r"\1://", where))
        host = f"{parts.scheme}://{parts.netloc}"
        port = parts.port
    except ValueError:
        raise InputError(f"{shown(where)}: a cluster is named https://HOST:PORT/INDEX") from None
    if "@" in where:
        raise InputError(
            f"{shown(where)}: an address in a report must have no secret; give user and password "
            "as RAGASSAY_CLUSTER_USER and RAGASSAY_CLUSTER_PASSWORD"
        )
    index = parts.path.strip("/")
    if not index or "/" in index or parts.query or parts.fragment:
        raise InputError(f"{where} names no index: a cluster is named https://HOST:PORT/INDEX")
    if port is None:
        host += ":443" if parts.scheme == "https" else ":80"
    return host, index


def open_index(where: str | Path, settings: Settings) -> ClusterCorpus:
    """Return the corpus of an address; nothing is sent yet.

    Raises:
        InputError: The address names no index, or has a password.
        SettingsError: User or password is missing.
    """
    host, index = host_and_index(where)
    return ClusterCorpus(host, index, auth=_credentials(settings))


def by_the_way_set(
    corpus: ClusterCorpus, settings: Settings, embedder: NamedEncoder
) -> tuple[Literature, str, str]:
    """Return the corpus as the setting `search` has it searched, the way's name, and a note.

    Raises:
        CorpusError: The vectors that the setting requires are missing or by another embedder, or
            the cluster cannot be reached.
    """
    way, note = settings.search, ""
    if way == "auto":
        known = find_maker(corpus.cluster)
        way = "hybrid" if known == maker_of(embedder) else "bm25"
        if known and way == "bm25":
            note = (
                f"searched by words alone: index {corpus.cluster.index!r} has vectors by "
                f"{known.embedder} (`--embedder {known.embedder}` searches them too)"
            )
    if way == "bm25":
        return corpus, way, note
    dense = ClusterVectors(corpus, embedder)
    return (dense if way == "dense" else HybridCorpus(corpus, dense)), way, note


def _credentials(settings: Settings) -> tuple[str, str] | None:
    password = settings.cluster_password
    if bool(settings.cluster_user) != (password is not None):
        raise SettingsError("give both settings, 'cluster_user' and 'cluster_password', or neither")
    return (settings.cluster_user, password.get_secret_value()) if password else None

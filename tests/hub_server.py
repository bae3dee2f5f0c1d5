"""A model hub on loopback with the endpoints that `huggingface_hub` uses for downloads."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from loopback import serve

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Hub:
    """Model folders by name, and the requested paths."""

    models: dict[str, Path]
    licence: str = "mit"
    url: str = ""
    asked: list[str] = field(default_factory=list)

    def info(self, name: str) -> bytes:
        files = self._files(name)
        siblings = [{"rfilename": file} for file in files]
        card = {"license": self.licence}
        found = {"id": name, "sha": COMMIT, "siblings": siblings, "cardData": card, "tags": []}
        return json.dumps({**found, "private": False, "downloads": 0, "likes": 0}).encode()

    def tree(self, name: str) -> bytes:
        folder = self.models[name]
        rows = [
            {
                "type": "file",
                "path": file,
                "size": (folder / file).stat().st_size,
                "oid": hashlib.sha1((folder / file).read_bytes()).hexdigest(),
            }
            for file in self._files(name)
        ]
        return json.dumps(rows).encode()

    def _files(self, name: str) -> list[str]:
        return sorted(file.name for file in self.models[name].iterdir() if file.is_file())

    def answer(self, path: str, _: bytes) -> tuple[int, bytes, dict[str, str]]:
        path = path.partition("?")[0]
        self.asked.append(path)
        for name, folder in self.models.items():
            if path.startswith(f"/api/models/{name}"):
                rest = path.removeprefix(f"/api/models/{name}")
                return 200, self.tree(name) if rest.startswith("/tree") else self.info(name), {}
            if path.startswith(f"/{name}/resolve/{COMMIT}/"):
                file = folder / path.rpartition("/")[2]
                if file.is_file():
                    body = file.read_bytes()
                    tag = hashlib.sha1(body).hexdigest()
                    return 200, body, {"X-Repo-Commit": COMMIT, "ETag": f'"{tag}"'}
        return 404, b"{}", {"X-Error-Code": "RepoNotFound"}


@contextmanager
def running_hub(models: dict[str, Path], licence: str = "mit") -> Iterator[Hub]:
    """Serve models until the block ends."""
    hub = Hub(models, licence)
    with serve(hub.answer) as hub.url:
        yield hub

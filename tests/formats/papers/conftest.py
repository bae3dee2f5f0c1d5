"""Small files of papers, written by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

WriteFile = Callable[[str, bytes], Path]
ToPdf = Callable[..., bytes]


@pytest.fixture
def put(tmp_path: Path) -> WriteFile:
    """Write a file of this name; folders in it are made."""

    def _put(name: str, data: bytes | str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)
        return path

    return _put


@pytest.fixture
def to_pdf() -> ToPdf:
    """Return a PDF whose pages show these lines; bytes are operators as they are."""

    def _to_pdf(*pages: list[str | bytes], title: str = "") -> bytes:
        kids = " ".join(f"{4 + 2 * i} 0 R" for i in range(len(pages)))
        objects = [
            "<< /Type /Catalog /Pages 2 0 R >>",
            f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
            "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        ]
        for i, lines in enumerate(pages):
            shown = "\n".join(
                f"({_escaped(line)}) Tj T*" if isinstance(line, str) else line.decode()
                for line in lines
            )
            content = f"BT /F1 10 Tf 12 TL 50 750 Td\n{shown}\nET"
            objects.append(
                f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {5 + 2 * i} 0 R "
                "/Resources << /Font << /F1 3 0 R >> >> >>"
            )
            objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
        objects.append(f"<< /Title ({_escaped(title)}) >>")
        return _assembled(objects)

    return _to_pdf


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def _assembled(objects: list[str]) -> bytes:
    data = b"%PDF-1.4\n"
    offsets: list[int] = []
    for number, one in enumerate(objects, start=1):
        offsets.append(len(data))
        data += f"{number} 0 obj\n{one}\nendobj\n".encode("cp1252")
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    end = len(data)
    n = len(objects) + 1
    trailer = f"trailer << /Size {n} /Root 1 0 R /Info {n - 1} 0 R >>\nstartxref\n{end}\n%%EOF\n"
    return data + f"xref\n0 {n}\n0000000000 65535 f \n{table}{trailer}".encode()

"""Read papers, and question-answer pairs about them.

Formats are detected from a file's content. An unreadable item becomes a `Rejection` that states the
file, line and field, and all other items are read.
"""

from ragassay.formats.papers.exports import EXPORT_FORMS, export_pairs
from ragassay.formats.papers.files import PaperFile, read_papers, write_papers
from ragassay.formats.papers.pairs import read_pairs, write_pairs

__all__ = [
    "EXPORT_FORMS",
    "PaperFile",
    "export_pairs",
    "read_pairs",
    "read_papers",
    "write_pairs",
    "write_papers",
]

"""Read papers, and question-answer pairs about them.

Formats are detected from a file's content. Unreadable items become `Rejection` objects that state
the file, line and field. Readers skip unreadable items and read all others.
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

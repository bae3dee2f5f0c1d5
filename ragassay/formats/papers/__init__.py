"""Read papers, and question-answer pairs about them.

A file's form is recognised by its content, never by its name. What cannot be read becomes a
`Rejection` that names file, line and field; the rest is still read.
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

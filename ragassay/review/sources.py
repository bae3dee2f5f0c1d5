"""Tell what a path is: a run, a graded file, or a test bank."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ragassay.errors import InputError
from ragassay.formats.workbench.paragraphs import is_paragraph_file
from ragassay.review.items import Source
from ragassay.review.of_bank import open_bank
from ragassay.review.of_grades import open_grades
from ragassay.review.of_run import open_run


def open_source(path: Path, banks: Sequence[Path] = ()) -> Source:
    """Open what is to be reviewed.

    Args:
        path: A run folder, a graded file, or a file of test banks.
        banks: Test banks with the texts of a graded file's items.

    Raises:
        InputError: It is none of these, or it has nothing to review.
    """
    if path.is_dir():
        source: Source = open_run(path)
    elif is_paragraph_file(path):
        source = open_grades(path, banks)
    else:
        source = open_bank(path)
    if not source.items:
        raise InputError(f"{path} has nothing to review: no verdict, no grade, no item")
    return source

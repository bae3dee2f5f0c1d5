"""Files that users have, as records; and records as files.

Formats are told apart by what a file holds, never by its name. A line that cannot be read becomes
a `Rejection` that names file, line and field, and never stops the others.
"""

from ragassay.formats.corpus import CorpusResult, read_corpus
from ragassay.formats.read import ReadResult, read_records, records_from_rows
from ragassay.formats.write import write_biogen_2025_b, write_records

__all__ = [
    "CorpusResult",
    "ReadResult",
    "read_corpus",
    "read_records",
    "records_from_rows",
    "write_biogen_2025_b",
    "write_records",
]

"""Read records from users' files, and write records to files.

Formats are detected from a file's content. An unreadable line becomes a `Rejection` that states the
file, line and field, and all other lines are read.

Answers: `read_records`, `write_answers`. Gold nuggets: `read_nugget_banks`, `write_nugget_banks`,
`read_test_banks`, `write_test_banks`. Human labels: `read_labels`. Output of other evaluators:
`read_assignments`, `read_graded_paragraphs`. Retrieval: `read_corpus`, `read_qrels`, `read_run`.
"""

from ragassay.formats.assignments import (
    AssignedAnswer,
    AssignedNugget,
    NuggetScores,
    read_assignments,
    write_assignments,
    write_nugget_scores,
)
from ragassay.formats.gold import (
    NuggetBank,
    read_nugget_banks,
    read_nuggets,
    write_nugget_banks,
)
from ragassay.formats.labels import read_labels
from ragassay.formats.read import ReadResult, add_gold_nuggets, read_records, read_records_from_rows
from ragassay.formats.retrieval import (
    RankedDocument,
    RetrievalRun,
    read_corpus,
    read_qrels,
    read_run,
    write_qrels,
    write_run,
)
from ragassay.formats.workbench.bank_items import (
    BankItem,
    RubricBank,
    build_bank_item_id,
    build_exam_items,
    find_item_id,
)
from ragassay.formats.workbench.banks import read_test_banks, write_test_banks
from ragassay.formats.workbench.paragraphs import (
    DirectGrade,
    GradedParagraph,
    ParagraphData,
    ParagraphExamGrade,
    ParagraphJudgment,
    ParagraphRanking,
    QueryParagraphs,
    SelfRating,
    read_graded_paragraphs,
    write_graded_paragraphs,
)
from ragassay.formats.write import write_answers, write_records

__all__ = [
    "AssignedAnswer",
    "AssignedNugget",
    "BankItem",
    "DirectGrade",
    "GradedParagraph",
    "NuggetBank",
    "NuggetScores",
    "ParagraphData",
    "ParagraphExamGrade",
    "ParagraphJudgment",
    "ParagraphRanking",
    "QueryParagraphs",
    "RankedDocument",
    "ReadResult",
    "RetrievalRun",
    "RubricBank",
    "SelfRating",
    "add_gold_nuggets",
    "build_bank_item_id",
    "build_exam_items",
    "find_item_id",
    "read_assignments",
    "read_corpus",
    "read_graded_paragraphs",
    "read_labels",
    "read_nugget_banks",
    "read_nuggets",
    "read_qrels",
    "read_records",
    "read_records_from_rows",
    "read_run",
    "read_test_banks",
    "write_answers",
    "write_assignments",
    "write_graded_paragraphs",
    "write_nugget_banks",
    "write_nugget_scores",
    "write_qrels",
    "write_records",
    "write_run",
    "write_test_banks",
]

"""What flows between the rooms: the records that go in, the verdicts that come out.

Everything here is frozen, forbids unknown fields and knows nothing of models, graphs or files.
A verdict that could not be had is a value too: it carries a `Failure` where the verdict would be.
"""

from ragassay.records.base import (
    ASSIGNMENTS,
    RELEVANCE_LABELS,
    VERDICTS,
    Assignment,
    CitationLabel,
    EvidenceSide,
    FailureReason,
    Frozen,
    Importance,
    NuggetMethod,
    NuggetOrigin,
    RelevanceLabel,
    SearchEnd,
    Verdict,
)
from ragassay.records.evaluation import (
    Evaluation,
    Finding,
    Score,
)
from ragassay.records.inputs import (
    AnswerSentence,
    Case,
    Citation,
    Document,
    Nugget,
    Record,
    SentenceInput,
)
from ragassay.records.labels import HumanLabel, LabelTask
from ragassay.records.literature import Article, ArticleLink, LinkKind, Notice
from ragassay.records.matching import (
    MatchAgreement,
    MatchObjectives,
    MixtureComponent,
    NuggetMatcher,
)
from ragassay.records.run import (
    CardFigure,
    FileStamp,
    Manifest,
    ModelCard,
    RecordFailure,
    Rejection,
    Summary,
)
from ragassay.records.searches import EvidenceSearch, SearchQuery
from ragassay.records.verdicts import (
    CitationVerdict,
    EvidenceSpan,
    EvidenceVerdict,
    Failure,
    Judgment,
    NuggetAssignment,
    NuggetMatch,
    SentenceLabel,
    SentenceNuggets,
    Usage,
)

__all__ = [
    "ASSIGNMENTS",
    "RELEVANCE_LABELS",
    "VERDICTS",
    "AnswerSentence",
    "Article",
    "ArticleLink",
    "Assignment",
    "CardFigure",
    "Case",
    "Citation",
    "CitationLabel",
    "CitationVerdict",
    "Document",
    "Evaluation",
    "EvidenceSearch",
    "EvidenceSide",
    "EvidenceSpan",
    "EvidenceVerdict",
    "Failure",
    "FailureReason",
    "FileStamp",
    "Finding",
    "Frozen",
    "HumanLabel",
    "Importance",
    "Judgment",
    "LabelTask",
    "LinkKind",
    "Manifest",
    "MatchAgreement",
    "MatchObjectives",
    "MixtureComponent",
    "ModelCard",
    "Notice",
    "Nugget",
    "NuggetAssignment",
    "NuggetMatch",
    "NuggetMatcher",
    "NuggetMethod",
    "NuggetOrigin",
    "Record",
    "RecordFailure",
    "Rejection",
    "RelevanceLabel",
    "Score",
    "SearchEnd",
    "SearchQuery",
    "SentenceInput",
    "SentenceLabel",
    "SentenceNuggets",
    "Summary",
    "Usage",
    "Verdict",
]

"""All settings of ragassay, in groups."""

from ragassay.settings.evaluation import CitationEvidence, VerdictLabels
from ragassay.settings.group import AffectsResult, Flag
from ragassay.settings.loading import (
    RESULT_FIELDS,
    collect_result_values,
    convert_judges,
    find_default,
    format_settings,
    load_settings,
)
from ragassay.settings.running import EngineName, EvidenceMode, Search
from ragassay.settings.settings import FIELDS, GROUP_OF, GROUPS, Settings

__all__ = [
    "FIELDS",
    "GROUPS",
    "GROUP_OF",
    "RESULT_FIELDS",
    "AffectsResult",
    "CitationEvidence",
    "EngineName",
    "EvidenceMode",
    "Flag",
    "Search",
    "Settings",
    "VerdictLabels",
    "collect_result_values",
    "convert_judges",
    "find_default",
    "format_settings",
    "load_settings",
]

"""Test doubles: HTTP servers that imitate a language model and PubMed."""

from ragassay.testing.chat_completions import ToolCall, last_user_text, message_text, request_key
from ragassay.testing.entrez import EntrezRequest, EntrezTrouble, ScriptedEntrez
from ragassay.testing.faults import BatchPlan, Fault, FaultKind, ScriptedBatch
from ragassay.testing.manners import Manner, load_manner
from ragassay.testing.script import RecordedRequest, Reply, default_reply
from ragassay.testing.scripted_model import ScriptedModel

__all__ = [
    "BatchPlan",
    "EntrezRequest",
    "EntrezTrouble",
    "Fault",
    "FaultKind",
    "Manner",
    "RecordedRequest",
    "Reply",
    "ScriptedBatch",
    "ScriptedEntrez",
    "ScriptedModel",
    "ToolCall",
    "default_reply",
    "last_user_text",
    "load_manner",
    "message_text",
    "request_key",
]

"""Replies of providers and frameworks that cite by structure, read as text and citations."""

from ragassay.formats.replies.builder import StructuredReply
from ragassay.formats.replies.reading import (
    SHAPES,
    ReplyShape,
    add_reply,
    find_shape,
    is_reply_object,
    read_structured_reply,
)

__all__ = [
    "SHAPES",
    "ReplyShape",
    "StructuredReply",
    "add_reply",
    "find_shape",
    "is_reply_object",
    "read_structured_reply",
]

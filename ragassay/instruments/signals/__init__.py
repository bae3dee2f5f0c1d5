"""Signals of an answer, computed before it is judged."""

from ragassay.instruments.signals.extractor import SignalExtractor

__all__ = ["SignalExtractor"]

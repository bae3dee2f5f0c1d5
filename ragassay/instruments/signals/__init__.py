"""Signals of an answer, computed before the answer is judged."""

from ragassay.instruments.signals.extractor import SignalExtractor

__all__ = ["SignalExtractor"]

"""Measure an answer before it is judged."""

from ragassay.instruments.signals.extractor import SignalMeter

__all__ = ["SignalMeter"]

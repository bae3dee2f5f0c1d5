"""Measure an answer before it is judged."""

from ragassay.instruments.signals.meter import SignalMeter

__all__ = ["SignalMeter"]

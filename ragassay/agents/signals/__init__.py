"""Measure an answer before it is judged."""

from ragassay.agents.signals.meter import SignalMeter

__all__ = ["SignalMeter"]

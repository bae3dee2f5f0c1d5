"""What can be measured of an answer before anybody judges it."""

from ragassay.agents.signals.meter import SignalMeter

__all__ = ["SignalMeter"]

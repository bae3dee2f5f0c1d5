"""Instruments that measure or decide without a language model: signals, raters, encoders."""

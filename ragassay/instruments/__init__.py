"""Instruments that work without a language model: signals, raters and encoders."""

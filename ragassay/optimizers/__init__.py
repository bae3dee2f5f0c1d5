"""Fitting, fine-tuning and compiling what ragassay's judges use."""

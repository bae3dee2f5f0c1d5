"""Fit nugget matchers, fine-tune models, and optimize prompts."""

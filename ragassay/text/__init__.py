"""Sentences, citation markers, segmenting, grounding: text in, text out."""

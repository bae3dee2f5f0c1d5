"""Measures of question-answer pairs that were written from papers (SciQAG)."""

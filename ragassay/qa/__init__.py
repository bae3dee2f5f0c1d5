"""Generation and evaluation of question-answer pairs from papers (SciQAG)."""

"""The page and the plots of question-answer pairs (SciQAG)."""

"""Write question-answer pairs from papers, and judge them (SciQAG)."""

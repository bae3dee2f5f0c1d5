"""SciQAG: write question-answer pairs from papers, and judge them."""

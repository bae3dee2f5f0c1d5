"""Read papers and question-answer pairs; write pairs in the forms of other tools."""

"""Read and write files of the Rubric-Grading Workbench (Dietz 2024): banks, graded paragraphs."""

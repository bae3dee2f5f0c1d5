"""Read and write test banks and graded paragraphs of the Rubric-Grading Workbench (Dietz 2024)."""

"""Files of the Rubric-Grading Workbench (Dietz 2024): test banks and graded paragraphs."""

"""The Rubric-Grading Workbench (Dietz 2024): test banks, grading, oversight, leaderboards."""

"""The Rubric Workbench (Dietz 2024): test banks, grading, oversight and leaderboards."""

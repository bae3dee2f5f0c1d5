"""Command `qa`."""

"""Judging in a Ray cluster: driver, workers, hub and shared models."""

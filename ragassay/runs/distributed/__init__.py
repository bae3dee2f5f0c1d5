"""Evaluate answers in a Ray cluster, with a driver, workers, a hub and shared models."""

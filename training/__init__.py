"""Maintainer scripts that created the shipped weights. Not part of the package."""

"""Scripts of the maintainers that made the shipped weights, outside the package."""

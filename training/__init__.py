"""How the shipped weights were made: scripts of the maintainers, outside the package."""

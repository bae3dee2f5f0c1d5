"""Text functions: sentences, citation marks, numbers, search and grounding."""

"""Rule-based text analysis: sentences, citation marks, numbers, search and grounding."""

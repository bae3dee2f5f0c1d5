"""Studies of judges and verifiers: audit, strategies, rationales, matrix, similarity, trust."""

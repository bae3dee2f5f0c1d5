"""Models: the gateway for all model calls, the local judge, verifiers and embeddings."""

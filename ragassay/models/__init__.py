"""The models: the gateway of every call, the local judge, the embeddings."""

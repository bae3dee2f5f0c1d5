"""The models: the gateway that every call goes through, the local judge, the embeddings."""

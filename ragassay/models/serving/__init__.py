"""Model server with OpenAI's API, for other processes and machines."""

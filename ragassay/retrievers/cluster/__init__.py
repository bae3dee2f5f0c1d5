"""A corpus past one machine: articles in an OpenSearch or Elasticsearch cluster."""

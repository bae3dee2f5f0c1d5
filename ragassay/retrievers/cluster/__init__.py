"""A corpus larger than one machine: articles in an OpenSearch or Elasticsearch cluster."""

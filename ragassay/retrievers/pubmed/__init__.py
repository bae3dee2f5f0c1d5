"""Parse PubMed XML and MEDLINE files, and search PubMed over the network."""

"""Parsers for PubMed XML and MEDLINE files, and search of PubMed over the network."""

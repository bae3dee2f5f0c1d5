"""PubMed: its XML and MEDLINE files, and PubMed itself over the network."""

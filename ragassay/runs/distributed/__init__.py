"""Judge answers in a Ray cluster: a driver, workers, the hub and the models that they share."""

"""Pure functions: records in, numbers out. Each names its paper."""

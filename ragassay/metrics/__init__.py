"""Pure functions that compute numbers from records. Each function cites the paper it follows."""

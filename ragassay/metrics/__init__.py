"""Pure functions that compute numbers from records. Each function cites its paper."""

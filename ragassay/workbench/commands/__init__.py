"""Commands `testbank`, `grade` and `grades`."""

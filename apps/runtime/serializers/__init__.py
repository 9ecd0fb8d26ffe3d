"""Bodies and answers of the endpoints for remote workers."""

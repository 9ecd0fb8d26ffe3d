"""The pages: each finds its seat, reads through selectors, and leaves changes to the services."""

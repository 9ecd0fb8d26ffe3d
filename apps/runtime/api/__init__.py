"""Doors for workers that join over HTTP. docs/remote-workers.md tells it in order."""

"""Reads for workers that join over HTTP."""

"""Counts for the pages that the ORM has no words for."""

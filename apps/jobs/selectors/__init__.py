"""Reads of jobs that need more than a queryset."""

from apps.jobs.selectors.shelves import (
    DEAD_LETTERS,
    count_held,
    dead_letters,
    find,
    organization_of,
    reachable_jobs,
)

__all__ = ["DEAD_LETTERS", "count_held", "dead_letters", "find", "organization_of", "reachable_jobs"]

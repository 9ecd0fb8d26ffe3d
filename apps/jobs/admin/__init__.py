"""Jobs and their ledger: windows, with the verbs of the services as buttons."""

from apps.jobs.admin import attempts, groups, jobs, reservations, schedules, types  # noqa: F401 - registers

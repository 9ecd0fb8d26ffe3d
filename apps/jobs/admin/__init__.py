"""Jobs and their ledger: windows, with the verbs of the services as buttons."""

from apps.jobs.admin import attempts, groups, jobs, schedules, types  # noqa: F401 - registers

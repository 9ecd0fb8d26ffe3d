"""People, organizations and tokens; and the doors they come in by."""

from apps.accounts.admin import doors, people  # noqa: F401 - registers

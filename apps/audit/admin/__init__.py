"""The ground of every admin page, and the audit trail itself."""

from apps.audit.admin import entries  # noqa: F401 - registers

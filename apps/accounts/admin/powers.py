"""Who may do what: written down when it changes, and a reason to refuse whoever may do less."""

from typing import Any, cast

from django.http import HttpRequest

from apps.accounts.models import User
from apps.audit.admin.console import Console


def outranks(user: User, request: HttpRequest) -> bool:
    """Whether a user has powers that only a superuser may touch; one's own account is never above one."""
    me = cast("User", request.user)
    return (user.is_superuser or user.is_staff) and not me.is_superuser and user.pk != me.pk


class PowersConsole(Console):
    """For rows that carry permissions."""

    def powers(self, row: Any) -> dict[str, list[str]]:
        """What stands in the audit entry of a change."""
        raise NotImplementedError

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: Any) -> None:
        before = self.powers(form.instance)
        super().save_related(request, form, formsets, change)
        after = self.powers(form.instance)
        if before != after:
            self.write(request, form.instance, "permissions", before=before, after=after)

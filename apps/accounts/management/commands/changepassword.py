"""Django's own, written down; it ends the user's login tokens too."""

from getpass import getuser
from typing import Any

from django.contrib.auth.management.commands import changepassword
from django.db import transaction

from apps.accounts.models import User
from apps.accounts.services import people
from apps.audit.record import Actor

ACTOR = Actor(name="manage.py changepassword")


class Command(changepassword.Command):
    def handle(self, *args: Any, **options: Any) -> str:
        with transaction.atomic():
            said = super().handle(*args, **options)
            user = User.objects.get_by_natural_key(options["username"] or getuser())
            people.end_logins(user=user, actor=ACTOR)
        return str(said)

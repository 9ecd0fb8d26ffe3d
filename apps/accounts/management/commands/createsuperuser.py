"""Django's own, written down."""

from typing import Any

from django.contrib.auth.management.commands import createsuperuser
from django.db import transaction

from apps.accounts.models import User
from apps.accounts.services import people
from apps.audit.record import Actor

ACTOR = Actor(name="manage.py createsuperuser")


class Command(createsuperuser.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        with transaction.atomic():
            known = set(User.objects.filter(is_superuser=True).values_list("pk", flat=True))
            super().handle(*args, **options)
            for user in User.objects.filter(is_superuser=True).exclude(pk__in=known):
                people.note(user=user, actor=ACTOR, action="user.create")

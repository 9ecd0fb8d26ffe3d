"""Come in for the first time, and change the password."""

from uuid import UUID

from allauth.account.models import EmailAddress
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest

from apps.accounts.models import User
from apps.accounts.services.fields import make
from apps.accounts.services.tokens import revoke_logins
from apps.audit.record import Actor, record
from apps.errors import BadInput, Fault


@transaction.atomic
def register(*, email: str, password: str, name: str = "", address: str | None = None, request_id: str = "") -> User:
    """Make an account; Taken if the address has one. Whether it must be confirmed is the caller's affair."""
    user = User(email=email.strip().lower(), name=name)
    _set(user, password, pointer="#/password")
    make(user, taken=Fault("#/email", "This address has an account already."))
    EmailAddress.objects.create(user=user, email=user.email, primary=True, verified=False)
    actor = Actor(name=user.email, user_id=user.pk, address=address, request_id=request_id)
    record(actor=actor, organization_id=None, action="user.register", target_type="user", target_id=user.pk)
    return user


def confirm(*, user: User, request: HttpRequest) -> None:
    """Send the mail with which an address is confirmed."""
    EmailAddress.objects.get(user=user, primary=True).send_confirmation(request, signup=True)


def is_confirmed(*, user: User) -> bool:
    """Tell whether a user has shown that an address is theirs."""
    return bool(EmailAddress.objects.filter(user=user, verified=True).exists())


@transaction.atomic
def change_password(*, user: User, password: str, actor: Actor, keep: UUID | None = None) -> None:
    """Set a new password and end every other login: sessions by their hash, login tokens here, all but `keep`."""
    _set(user, password, pointer="#/new_password")
    user.save(update_fields=["password"])
    end_logins(user=user, actor=actor, keep=keep)


@transaction.atomic
def end_logins(*, user: User, actor: Actor, keep: UUID | None = None) -> None:
    """Write down that a user has a new password, and end the login tokens of the old one."""
    revoke_logins(user=user, keep=keep)
    note(user=user, actor=actor, action="user.password")


def note(*, user: User, actor: Actor, action: str) -> None:
    """Write down what was done to a user, where somebody else did it."""
    after = {"email": user.email, "is_staff": user.is_staff, "is_superuser": user.is_superuser}
    record(actor=actor, organization_id=None, action=action, target_type="user", target_id=user.pk, after=after)


def _set(user: User, password: str, *, pointer: str) -> None:
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise BadInput(errors=[Fault(pointer, sentence) for sentence in error.messages]) from error
    user.set_password(password)

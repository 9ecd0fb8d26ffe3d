"""New passwords for who has forgotten theirs, and addresses that are confirmed: keys that were sent by mail."""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from threading import BoundedSemaphore

import structlog
from allauth.account.forms import ResetPasswordForm, UserTokenForm, default_token_generator
from allauth.account.models import EmailConfirmationHMAC
from allauth.core import context
from django.db import close_old_connections, transaction
from django.http import HttpRequest

from apps.accounts.models import User
from apps.accounts.services import people
from apps.audit.record import Actor
from apps.errors import BadInput, Unavailable

WAITING = 100  # mails
INVALID = "This key is not valid, or not any more."
log = structlog.get_logger(__name__)
_post = ThreadPoolExecutor(1, thread_name_prefix="mail")
_places = BoundedSemaphore(WAITING)


def ask_later(*, email: str, request: HttpRequest) -> "Future[None]":
    """Send a key by mail if the address has an account: beside the request, which so takes as long for one as for none."""
    if not _places.acquire(blocking=False):
        raise Unavailable("Too many mails are on their way; try again.", retry_after=5)
    return _post.submit(_ask, email, request)


def _ask(email: str, request: HttpRequest) -> None:
    close_old_connections()
    try:
        ask(email=email, request=request)
    except Exception:
        log.exception("mail for a new password was not sent")
    finally:
        _places.release()
        close_old_connections()


def ask(*, email: str, request: HttpRequest) -> None:
    """Send the key with which a new password can be set, to who has an account."""
    form = ResetPasswordForm({"email": email})
    with context.request_context(request):
        if form.is_valid() and form.users:
            form.save(request)


@transaction.atomic
def reset(*, key: str, new_password: str, actor: Actor) -> None:
    """Set a new password by a key, which then has had its day; every log-in ends."""
    uid, _, rest = key.partition("-")
    form = UserTokenForm({"uidb36": uid, "key": rest})
    if not form.is_valid() or not isinstance(form.reset_user, User) or not form.reset_user.is_active:
        raise BadInput.at("#/key", INVALID)
    user = User.objects.select_for_update().get(pk=form.reset_user.pk)
    if not default_token_generator.check_token(user, rest):  # somebody was quicker
        raise BadInput.at("#/key", INVALID)
    people.change_password(user=user, password=new_password, actor=replace(actor, name=user.email, user_id=user.pk))


@transaction.atomic
def verify(*, key: str, request: HttpRequest, actor: Actor) -> None:
    """Confirm an address by the key that was sent there."""
    found = EmailConfirmationHMAC.from_key(key)
    if found is None:
        raise BadInput.at("#/key", INVALID)
    with context.request_context(request):
        found.confirm(request)
    user = found.email_address.user
    people.note(user=user, actor=replace(actor, name=user.email, user_id=user.pk), action="user.verify")

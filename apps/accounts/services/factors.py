"""Second factors: a code of the moment, or one that is used up."""

from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled

from apps.accounts.models import User


def second_factor_fits(user: User, code: str) -> bool:
    """Whether this is a code of a user's second factor, which is used up by it; True for who has none."""
    if not is_mfa_enabled(user):
        return True
    found = Authenticator.objects.filter(
        user=user, type__in=(Authenticator.Type.TOTP, Authenticator.Type.RECOVERY_CODES)
    )
    for factor in found if code else ():
        if factor.wrap().validate_code(code):
            factor.record_usage()
            return True
    return False

"""Reads of who calls, what they may reach, and what they asked before."""

from apps.accounts.selectors.callers import Caller, caller_of_token, caller_of_user
from apps.accounts.selectors.reach import reachable

__all__ = ["Caller", "caller_of_token", "caller_of_user", "reachable"]

"""Passwords are hashed as cheaply as can be: here nothing hangs on what guessing costs."""

import pytest


@pytest.fixture(autouse=True)
def cheap_passwords(settings) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

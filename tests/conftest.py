"""Ground for every test: the built-in server, unless DATABASE_URL names another."""

from config import embedded


def pytest_configure() -> None:
    embedded.ensure()

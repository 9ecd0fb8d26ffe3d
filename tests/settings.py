"""The project's settings with a workload of the tests' own, for processes that tests start."""

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS as APPS

INSTALLED_APPS = [*APPS, "tests.workload"]

"""Two releases of one workload: CODE says which; GROWTH brings a migration that the other does not know."""

import os

from tests.settings import *  # noqa: F403
from tests.settings import INSTALLED_APPS as APPS

INSTALLED_APPS = [
    *APPS,
    "tests.deploy.workload",
    *(["tests.deploy.growth"] if os.environ.get("GROWTH") else []),
]

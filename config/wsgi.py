"""HTTP, in production: granian --interface wsgi config.wsgi:application."""

import os

from django.core.management.base import BaseCommand
from django.core.wsgi import get_wsgi_application

from config import embedded

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_wsgi_application()
BaseCommand().check(tags=["fencepost"])  # servers run no checks by themselves, and unsafe settings must not serve
embedded.ensure()

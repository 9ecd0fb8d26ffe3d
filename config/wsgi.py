"""HTTP, in production: granian --interface wsgi config.wsgi:application."""

import os

from django.core.management import call_command
from django.core.wsgi import get_wsgi_application

from config import embedded

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_wsgi_application()
call_command("check", tags=["fencepost"])  # servers run no checks by themselves, and unsafe settings must not serve
embedded.ensure()

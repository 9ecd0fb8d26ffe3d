"""The admin, on a site of our own."""

from django.contrib.admin.apps import AdminConfig


class ConsoleConfig(AdminConfig):
    default_site = "config.console.Console"

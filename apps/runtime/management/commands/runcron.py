"""manage.py runcron: promote what is due, fire schedules."""

from apps.runtime.management.commands import runscheduler


class Command(runscheduler.Command):
    help = "Run only the loops that wait for a time."
    only = ("promote", "cron")

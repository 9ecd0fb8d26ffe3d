"""manage.py runreaper: take back what silent workers held."""

from apps.runtime.management.commands import runscheduler


class Command(runscheduler.Command):
    help = "Run only the reaper."
    only = ("reap",)

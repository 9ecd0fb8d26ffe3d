"""Tests that commit have a database of their own, and so do the processes they start."""

import subprocess
import sys
import time
from threading import Thread

from django.db import connection, connections

from apps.accounts.models import Organization
from tests import databases
from tests.factories import OrganizationFactory


def test_what_one_test_commits(own_database):
    OrganizationFactory.create(slug="leftover")
    assert connection.settings_dict["NAME"] == own_database.name


def test_the_next_one_does_not_see(own_database):
    assert not Organization.objects.exists()


def test_nor_does_a_test_that_rolls_back(organization, database_name):
    assert connection.settings_dict["NAME"] == database_name
    assert Organization.objects.get() == organization


def test_threads_and_processes_work_in_the_same_one(own_database, organization):
    seen = []

    def look():
        seen.append(Organization.objects.get().slug)
        connections.close_all()

    thread = Thread(target=look)
    thread.start()
    thread.join()
    command = "from apps.accounts.models import Organization; print(Organization.objects.get().slug)"
    done = subprocess.run(
        [sys.executable, "manage.py", "shell", "-v", "0", "-c", command], capture_output=True, text=True
    )
    assert seen == [organization.slug] == done.stdout.split(), done.stderr


def test_a_clone_is_quick(database_name, database_template, django_db_blocker):
    began = time.monotonic()
    with django_db_blocker.unblock(), databases.clone(f"{database_name}_quick", template=database_template):
        took = time.monotonic() - began
    assert took < 3  # a tenth of this on a quiet machine


def test_a_second_run_takes_another_name(database_name, django_db_blocker):
    with databases.reserved(database_name) as other:
        assert other != database_name

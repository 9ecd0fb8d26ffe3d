"""The whole pipeline: a real worker, real files."""

import json
import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from PIL import Image

from apps.accounts.models import ApiToken, Membership, Organization, Role, User
from apps.demo.services import cast
from apps.jobs.models import Attempt, Job


@pytest.fixture
def demo(own_database, tmp_path):
    """Run manage.py demo against the test's database."""
    environment = os.environ | {"DATABASE_URL": own_database.url, "RESULTS_DIR": str(tmp_path / "var" / "results")}

    def run(*flags: str, **extra: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "manage.py", "demo", *flags],
            cwd=settings.BASE_DIR,
            env=environment | extra,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    mine = tmp_path / "my pictures"
    mine.mkdir()
    for number, name in enumerate(("ü b.jpg", "a.png", "c.webp")):
        Image.new("RGB", (900, 600), (number * 90, 120, 60)).save(mine / name)
    (mine / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 not really")
    (mine / "notes.txt").write_text("no picture at all")
    return mine


def the_rest_came_out(results: Path) -> None:
    dead = {job.payload["picture"].split("/")[1]: job.pk for job in Job.objects.filter(state="dead_letter")}
    assert dead.keys() == {"broken.jpg", "notes.txt"}
    for name, job_id in dead.items():
        attempt = Attempt.objects.get(job_id=job_id)
        assert (attempt.outcome, attempt.error_class) == ("permanent_error", "UnreadablePicture")
        assert f"{name} can't be read: " in (attempt.error_message or "")

    sheet = Job.objects.get(type="image.contact_sheet")
    assert sheet.state == "completed"
    assert sheet.result == {
        "pictures": 3,
        "unreadable": 2,
        "sheet": f"/api/v1/jobs/{sheet.pk}/files/contact-sheet.jpg",
    }
    for job in Job.objects.filter(state="completed").exclude(type="image.publish"):
        [file] = (results / str(job.pk)).iterdir()
        assert Image.open(file).size > (0, 0)
    album = Job.objects.get(type="image.publish")
    assert (album.state, album.approval["decision"]) == ("completed", "approved")  # type: ignore[index]
    with ZipFile(results / str(album.pk) / "album.zip") as pack:
        assert len(pack.namelist()) == 4


def test_every_picture_gets_its_thumbnail_and_the_sheet_runs_on_the_rest(demo, folder, tmp_path):
    done = demo("--once", "--json", "--dir", str(folder))
    assert done.returncode == 0, done.stderr
    counted = json.loads(done.stdout)
    assert counted.pop("seconds") > 0
    assert counted == {"jobs": 7, "completed": 5, "dead_letter": 2, "awaiting_approval": 0}

    the_rest_came_out(tmp_path / "var" / "results")

    # Run again, it finds the same people and does it all once more.
    again = json.loads(demo("--once", "--json", "--dir", str(folder)).stdout)
    assert (again["completed"], again["dead_letter"]) == (5, 2)
    assert Organization.objects.filter(slug="demo").count() == 1
    assert {member.role for member in Membership.objects.filter(organization__slug="demo")} == set(Role)
    assert Job.objects.filter(type="image.contact_sheet", state="completed").count() == 2


@pytest.mark.parametrize("folder", ["empty", "nowhere"])
def test_a_folder_without_files_is_refused_in_a_sentence_before_anything_is_made(tmp_path, settings, folder):
    settings.RESULTS_DIR = tmp_path / "var" / "results"
    (tmp_path / "empty").mkdir()
    with pytest.raises(CommandError, match=folder):
        call_command("demo", once=True, json=True, dir=tmp_path / folder)


def test_there_is_a_person_of_each_role_and_one_of_the_staff(db):
    made = cast.call()
    assert [role.split(":")[0] for _, role in made.logins] == ["owner", "admin", "member", "viewer", "staff"]
    assert all(User.objects.get(email=email).check_password(cast.PASSWORD) for email, _ in made.logins)
    staff = User.objects.get(email="staff@demo.example")
    assert staff.is_staff
    assert staff.is_superuser


def test_what_was_changed_by_hand_is_put_right_and_nothing_is_made_twice(db):
    first = cast.call()
    User.objects.filter(email="owner@demo.example").update(password="!")
    Membership.objects.filter(user__email="viewer@demo.example").delete()
    assert cast.call() == first
    assert User.objects.get(email="owner@demo.example").check_password(cast.PASSWORD)
    assert Membership.objects.filter(user__email="viewer@demo.example", role="viewer").exists()


def test_each_run_has_a_new_token_and_ends_the_one_before(db):
    made = cast.call()
    texts = {cast.token(made), cast.token(made)}
    assert len(texts) == 2
    living = ApiToken.objects.get(name=cast.TOKEN, revoked_at=None)
    assert living.scopes == ["read", "submit"]
    assert living.expires_at is not None


def test_nobody_with_a_known_password_is_made_in_production(db, settings):
    settings.PRODUCTION = True
    with pytest.raises(cast.NotHere):
        cast.call()
    assert not User.objects.exists()

"""Files that jobs saved are read whole or in part, act as nothing, and lead nowhere else."""

import pytest

from tests import acts
from tests.api.caller import problem

pytestmark = pytest.mark.django_db


@pytest.fixture
def saved(queue, results) -> str:
    job = acts.enqueue(queue)
    folder = results / str(job)
    folder.mkdir()
    for name in ("a.txt", "b.html", "c d.png", ".hidden", "ü.bin"):
        (folder / name).write_bytes(b"0123456789")
    (results / "secret").write_text("secret")
    (folder / "link.txt").symlink_to(results / "secret")
    return f"jobs/{job}/files"


def test_a_file_is_read_whole(api, saved):
    answer = api.get(f"{saved}/a.txt")
    assert answer.getvalue() == b"0123456789"
    assert answer["Accept-Ranges"] == "bytes"
    assert answer["Content-Length"] == "10"


@pytest.mark.parametrize(
    ("asked", "part", "where"),
    [
        ("bytes=0-0", b"0", "bytes 0-0/10"),
        ("bytes=2-4", b"234", "bytes 2-4/10"),
        ("bytes=5-", b"56789", "bytes 5-9/10"),
        ("bytes=-3", b"789", "bytes 7-9/10"),
        ("bytes=-99", b"0123456789", "bytes 0-9/10"),
        ("bytes=8-99", b"89", "bytes 8-9/10"),
    ],
)
def test_a_part_is_read(api, saved, asked, part, where):
    answer = api.get(f"{saved}/a.txt", Range=asked)
    assert (answer.status_code, answer.getvalue(), answer["Content-Range"]) == (206, part, where)
    assert answer["Content-Length"] == str(len(part))


@pytest.mark.parametrize("asked", ["bytes=10-", "bytes=99-100", "bytes=-0"])
def test_a_part_outside_is_refused(api, saved, asked):
    answer = api.get(f"{saved}/a.txt", Range=asked)
    problem(answer, 416, "range_not_satisfiable")
    assert answer["Content-Range"] == "bytes */10"


@pytest.mark.parametrize(
    "asked", ["", "bytes=", "bytes=-", "bytes=4-2", "lines=1-2", "bytes=0-1,3-4", "bytes=x", "bytes=" + "9" * 99]
)
def test_what_is_no_range_is_passed_over(api, saved, asked):
    assert api.get(f"{saved}/a.txt", Range=asked).getvalue() == b"0123456789"


def test_no_file_acts_as_a_page(api, saved):
    for name, kind, shown in (
        ("a.txt", "text/plain; charset=utf-8", "inline"),
        ("b.html", "application/octet-stream", "attachment"),
        ("c%20d.png", "image/png", "inline"),
        ("%C3%BC.bin", "application/octet-stream", "attachment"),
    ):
        answer = api.get(f"{saved}/{name}")
        assert answer["Content-Type"] == kind
        assert answer["Content-Disposition"].startswith(shown)
        assert answer["Content-Security-Policy"] == "sandbox"
        assert answer["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    "name",
    [
        "nothing",
        ".hidden",
        "link.txt",
        "..",
        "..%2Fsecret",
        "%2E%2E%2Fsecret",
        "%2Fetc%2Fpasswd",
        "..%5Csecret",
        "a.txt%00",
        "%00",
        "a.txt/",
        "x" * 5000,
    ],
)
def test_names_lead_nowhere_else(api, saved, name):
    problem(api.get(f"{saved}/{name}"), 404, "not_found")


def test_lists_and_jobs_say_where_the_files_are(api, saved, queue):
    job = api.get(saved.removesuffix("/files")).json()
    assert [one["name"] for one in job["files"]] == ["a.txt", "b.html", "c d.png", "ü.bin"]
    assert api.get(job["files"][2]["url"].removeprefix("/api/v1/")).getvalue() == b"0123456789"

"""A job may name only pictures that the demo's operator let in."""

import pytest

from apps.demo.services import inbox


@pytest.fixture(autouse=True)
def _somewhere(settings, tmp_path):
    settings.RESULTS_DIR = tmp_path / "var" / "results"


@pytest.fixture
def folder(tmp_path):
    mine = tmp_path / "mine"
    (mine / "sub").mkdir(parents=True)
    for name in ("b.jpg", "a.png", ".hidden", "notes.txt"):
        (mine / name).write_text(name)
    (tmp_path / "secret.jpg").write_text("secret")
    return mine


def test_a_folder_that_was_let_in_lists_its_files(folder):
    name = inbox.admit(folder)
    assert inbox.pictures(name) == [f"{name}/a.png", f"{name}/b.jpg", f"{name}/notes.txt"]
    assert inbox.locate(f"{name}/a.png").read_text() == "a.png"


def test_a_folder_has_one_name_however_often_and_by_whatever_way_it_is_let_in(folder, monkeypatch):
    name = inbox.admit(folder)
    monkeypatch.chdir(folder)
    assert inbox.admit(folder) == inbox.admit(folder / "sub" / "..") == inbox.admit(type(folder)()) == name


def test_two_folders_of_one_name_are_two(folder):
    assert inbox.admit(folder / "sub") != inbox.admit(folder)
    (folder / "sub" / "mine").mkdir()
    assert inbox.admit(folder / "sub" / "mine") != inbox.admit(folder)


@pytest.mark.parametrize(
    "name",
    [
        "../secret.jpg",
        "{mine}/../secret.jpg",
        "{mine}/sub/../../secret.jpg",
        "{mine}/..",
        "/etc/passwd",
        "//etc",
        "{mine}/sub",
        "{mine}",
        "{mine}/nothing.jpg",
        "{mine}/a.png\0.jpg",
        "elsewhere/a.png",
        "..",
        "",
        None,
        1,
        ["{mine}/a.png"],
    ],
)
def test_no_name_leads_anywhere_else(folder, name):
    mine = inbox.admit(folder)
    with pytest.raises(inbox.NoSuchPicture):
        inbox.locate(name.format(mine=mine) if isinstance(name, str) else name)

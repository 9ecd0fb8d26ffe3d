"""The programs of the server, where another account can reach them."""

import subprocess

from apps.bench.services.chaos import programs as module


def test_programs_that_a_foreign_account_cannot_reach_are_copied_and_run(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_is_open", lambda file: False)
    folder = module.programs(tmp_path, foreign=True)
    assert folder.is_relative_to(tmp_path)
    told = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True, check=True)
    assert told.stdout.startswith("postgres (PostgreSQL)")


def test_our_own_account_needs_no_copy(tmp_path):
    assert not module.programs(tmp_path, foreign=False).is_relative_to(tmp_path)

"""What a benchmark prints."""

from types import SimpleNamespace

from apps.bench.services.figures import Rounds, as_text, percentile, told
from apps.bench.services.ground import url


def test_the_median_of_the_rounds_counts_and_each_can_be_seen():
    rounds = Rounds()
    for value in (30_000.4, 10_000.0, 20_000.6):
        rounds.add(jobs_per_second=value, ratio=value / 40_000)
    here = SimpleNamespace(postgres="18.0", server={"fsync": "on"})
    printed = told(here, rounds, unit="jobs/s", load=(1.234, 0, 0), jobs=5)  # type: ignore[arg-type]
    assert printed["jobs_per_second"] == 20_001
    assert printed["ratio"] == 0.5
    assert (printed["unit"], printed["postgres"], printed["load"]) == ("jobs/s", "18.0", [1.23, 0, 0])
    assert printed["settings"]["jobs"] == 5
    assert printed["settings"]["rounds"]["jobs_per_second"] == [30_000, 10_000, 20_001]
    assert "20,001" in as_text(printed)


def test_percentiles_of_few_values_are_values():
    assert [percentile([1.0, 2.0, 3.0, 4.0], part) for part in (0, 0.5, 0.95, 1)] == [1.0, 3.0, 4.0, 4.0]


def test_the_address_of_a_database_survives_odd_passwords_sockets_and_tls():
    at = {"USER": "a", "PASSWORD": "p@/:?#", "HOST": "db", "PORT": 6432, "NAME": "x", "OPTIONS": {"sslmode": "require"}}
    assert url(at) == "postgres://a:p%40%2F%3A%3F%23@db:6432/x?sslmode=require"
    at |= {"HOST": "/run/my dir", "PASSWORD": "", "PORT": "", "OPTIONS": {"connect_timeout": 2}}
    assert url(at) == "postgres://a:@//run/my%20dir/x"

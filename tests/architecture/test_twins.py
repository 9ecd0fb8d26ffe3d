"""What several statements say alike they go on saying alike: a change of one is a change of all.

A statement is planned as a whole, so that what claims have in common cannot stand in a file of its own.
"""

import re
from collections.abc import Callable

import pytest

from tests.architecture.sql_files import APPS, tokens

ENGINE = APPS / "jobs" / "engine"
PLAIN, AIMED, GATED, ROOMY, LANE = "claim", "claim_aimed", "claim_gated", "claim_roomy", "claim_lane"
CLAIMS = (PLAIN, AIMED, GATED, ROOMY, LANE)

LANES = re.compile(r"FROM jobs_job_live AS job WHERE job.queue_id = page.id .*? LIMIT")
WIDE = ("gates", ROOMY, LANE)  # who speaks of roomy gates

# What one claim says and another does not, each with its reason.
ONLY_WHEN_AIMED = (  # a queue with limits has one statement, whether jobs that wait for a worker are asked for or not
    "%(aimed)s::boolean AND ",
    " WHERE %(aimed)s::boolean",
)
ONLY_THERE = {
    "taken.project_id": "of several queues; one queue's is in its line",
    "job.started_at": "how long it walked is told of a claim from several queues",
    "line.breaker": "only a gate has one",
}
SETS_OF_ITS_OWN = {
    "target": "what is taken from the open line has none",
    "assigned_worker": "… and is bound to nobody",
    "shard": "only a gate has several",
}
MAY_LACK = {
    PLAIN: {"target", "assigned_worker", "shard"},
    AIMED: {"shard"},
    GATED: set[str](),
    ROOMY: {"target", "assigned_worker"},
    LANE: {"target", "assigned_worker"},
}


def read(name: str) -> str:
    return (ENGINE / f"{name}.sql").read_text()


def flat(text: str) -> str:
    """A statement on one line, without its comments and however it was spaced."""
    return re.sub(r" ?(::) ?| ?([,;])|(?<=%) (?=\()|(\() | (?=\))|(?<=\)) (?=s\b)", r"\1\2\3", " ".join(tokens(text)))


def enclosed(text: str, opening: str) -> str:
    """What stands in the brackets that this opens."""
    _, found, rest = text.partition(opening)
    assert found, f"there is no {opening}"
    depth = 1
    for place, char in enumerate(rest):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return rest[:place].strip()
    raise AssertionError(f"{opening} is never closed")


def cte(text: str, name: str) -> str:
    said = re.sub(r"\bAS MATERIALIZED \(", "AS (", flat(text))
    return enclosed(said, f"{name} AS (")


def items(text: str) -> list[str]:
    """The parts of a list, which may have lists in them."""
    parts, depth = [""], 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and not depth:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts]


def told(text: str) -> list[str]:
    """What `claimed` returns; where it has the project from does not matter."""
    returned = cte(text, "claimed").partition("RETURNING ")[2]
    return [re.sub(r"^\w+\.project_id$", "project_id", item) for item in items(returned)]


def answered(text: str) -> list[str]:
    return items(flat(text).rpartition(") SELECT ")[2].partition(" FROM (")[0])


def sets(text: str) -> dict[str, str]:
    """The columns a claim sets, and to what; whom it had the job from does not matter."""
    said = re.split(r" FROM (?:taken|granted)\b", cte(text, "claimed").partition("SET ")[2])[0]
    named = dict(item.split(" = ", 1) for item in items(said))
    return {column: re.sub(r"\b(taken|granted|line)\.", "", value) for column, value in named.items()}


def without(text: str, *said: str) -> str:
    for one in said:
        text = text.replace(one, "")
    return text


def holder(text: str) -> str:
    """Who may claim at all."""
    return cte(text, "holder").rpartition(" FROM workers_session ")[2]


def fence(text: str) -> str:
    """By which reservation an attempt may end."""
    return enclosed(flat(text), "job.reservation_generation IS NULL ").rpartition("OR EXISTS")[2]


def older(text: str) -> str:
    """Whether something still runs that is older than what was written."""
    return re.sub(r"\w+\.opens_after", "opens_after", enclosed(flat(text), "SELECT FROM pg_stat_activity"))


@pytest.mark.parametrize("name", ["line", "halted", "offer", "told"])
def test_the_open_line_is_the_same_for_whoever_is_aimed_at(name):
    assert cte(read(PLAIN), name) == cte(read(AIMED), name)


@pytest.mark.parametrize("name", ["reserved", "aim", "unbound", "bound", "granted"])
def test_who_is_aimed_at_is_the_same_where_there_are_limits(name):
    aimed, gated = (cte(read(claim), name) for claim in (AIMED, GATED))
    assert without(aimed, " taken.project_id,") == without(gated, *ONLY_WHEN_AIMED)


def test_the_same_sessions_may_claim():
    assert holder(read(PLAIN)) == holder(read(AIMED)) == holder(read(GATED)) == holder(read(ROOMY))
    assert cte(read(ROOMY), "holder") == cte(read(LANE), "holder")


def test_every_claim_sets_the_same_columns():
    every = [sets(read(claim)) for claim in CLAIMS]
    names = {name for one in every for name in one}
    for claim, one in zip(CLAIMS, every, strict=True):
        assert names - set(one) == MAY_LACK[claim] <= set(SETS_OF_ITS_OWN)
    for name in names - set(SETS_OF_ITS_OWN) - {"reservation_generation"}:
        assert len({one[name] for one in every}) == 1, name
    assert [one["reservation_generation"] for one in every] == ["NULL", "generation", "generation", "NULL", "NULL"]


def test_every_claim_returns_the_same():
    plain, aimed, *behind_gates = (told(read(claim)) for claim in CLAIMS)
    assert plain == aimed
    for one in behind_gates:
        assert [item for item in plain if item not in ONLY_THERE] == [item for item in one if item not in ONLY_THERE]


def test_every_claim_answers_the_same():
    plain, aimed, *behind_gates = (answered(read(claim)) for claim in CLAIMS)
    assert plain == aimed
    for one in behind_gates:
        assert plain[0] == one[0] == "seen.candidates"
        assert plain[3:] == one[3:]
    assert plain[3] == "claimed.rank"


def test_a_gate_with_much_room_is_chosen_alike_whether_one_type_waits_or_several():
    doors = [enclosed(cte(read(claim), "line"), "CROSS JOIN LATERAL (") for claim in (ROOMY, LANE)]
    assert doors[0] == doors[1]
    assert cte(read(ROOMY), "told") == cte(read(LANE), "told")
    assert flat(read(ROOMY)).rpartition("LEFT JOIN")[2] == flat(read(LANE)).rpartition("LEFT JOIN")[2]


@pytest.mark.parametrize("name", ["fenced", "heartbeat"])
def test_what_a_reservation_fences_is_fenced_everywhere(name):
    assert fence(read(name)) == fence(read("report"))


def test_whoever_waits_for_older_transactions_waits_for_the_same():
    assert older(read("open_gates")) == older(read("reservable"))


def test_batches_and_workflows_are_counted_alike():
    assert flat(read("count_batches")).replace("batch_id", "workflow_id") == flat(read("count_workflows"))


def test_what_is_roomy_is_so_wherever_it_is_asked():
    asked = {name: re.findall(r"gate.cap - gate.in_flight < (\d+)|in_flight\) >= (\d+)", read(name)) for name in WIDE}
    assert {least or most for found in asked.values() for least, most in found} == {"100"}
    assert all(asked.values())


def test_what_waits_is_counted_alike_for_people_and_for_prometheus():
    health, metrics = (LANES.findall(flat(read(name))) for name in ("health", "metrics"))
    assert health == metrics
    assert len(health) == 3
    assert cte(read("health"), "running") == cte(read("metrics"), "running")


@pytest.mark.parametrize("name", ["weighed", "chosen", "silenced"])
def test_dead_letters_go_in_batches_of_so_many_edges_whoever_lets_them_go(name):
    assert cte(read("prune_dead"), name) == cte(read("vanish_dead"), name)


def test_whatever_goes_is_weighed_alike():
    weighed = [cte(read(name), "weighed") for name in ("vanish_dead", "prune_expired", "prune_ties")]
    assert len({one.replace("span", "old") for one in weighed}) == 1


def test_what_a_job_said_is_kept_alike_on_its_way_and_at_its_end():
    beat, end = (flat(read(name)).partition("INSERT INTO jobs_progress")[2] for name in ("heartbeat", "last_word"))
    kept = re.compile(r"ON CONFLICT \(job_id\) DO UPDATE SET .*?at = excluded.at")
    assert beat.partition(")")[0] == end.partition(")")[0]
    assert kept.findall(beat) == kept.findall(end) != []


def test_who_comes_back_has_the_dependents_that_edges_name():
    said = [
        re.findall(r"(EXISTS \([^)]*\)) AS has_dependents", flat(read(name))) for name in ("replay", "replay_revive")
    ]
    assert said[0] == said[1] != []


# Planted: the tests above can fail.


@pytest.mark.parametrize(
    ("part", "said", "instead"),
    [
        (lambda text: cte(text, "line"), "queue.paused_at IS NULL OR", "queue.paused_at IS NULL AND"),
        (lambda text: cte(text, "aim"), "holder.reservation_id IS NULL", "TRUE"),
        (holder, "AND NOT session.draining", ""),
        (sets, "reservation_generation = granted.generation", "priority = 0"),
        (told, "END AS approved", "END AS allowed"),
        (answered, "claimed.concurrency_key,", ""),
    ],
)
def test_a_claim_that_drifts_is_found(part: Callable[[str], object], said, instead):
    text = read(AIMED)
    assert part(text.replace(said, instead)) != part(text)


@pytest.mark.parametrize(
    ("name", "part", "said"),
    [("fenced", fence, "'bound', 'draining'"), ("open_gates", older, "greatest"), ("report", fence, "job.workflow_id")],
)
def test_another_twin_that_drifts_is_found(name, part: Callable[[str], object], said):
    text = read(name)
    assert part(text.replace(said, "odd")) != part(text)


def test_spaces_and_comments_are_no_drift():
    assert cte("a AS MATERIALIZED (\n  SELECT f( %(b)s::uuid [] )  -- why\n)", "a") == cte(
        "a AS (SELECT f(%(b)s::uuid[]))", "a"
    )

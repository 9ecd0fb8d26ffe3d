"""What a benchmark deletes: a queue, or a project with everything that hangs on one, over ten days that others share."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from apps.accounts.models import Project
from apps.audit.engine.days import cut_day
from apps.audit.engine.partition import EVENT
from apps.audit.record import SYSTEM
from apps.bench.services.backlog import backlog
from apps.bench.services.flow import shape
from apps.bench.services.records import TYPE
from apps.jobs import services
from apps.jobs.engine.partition import ATTEMPT, JOB
from apps.queues.models import Queue
from apps.sql import Statement, run

DAYS = 10
STEPS, LAYER, SCHEDULES = 100, 10, 10  # steps of a workflow, and how many of them wait for as many

# Old jobs in every final state, a tenth of them dead, a tenth still queued; each that ran has its row of the ledger.
_JOBS = """
    INSERT INTO jobs_job (
        id, queue_id, type, payload, run_at, rank, max_attempts, max_losses, max_snoozes, state, attempt, fence,
        created_at, started_at, finished_at, shelved_on
    )
    SELECT
        ('{prefix}' || lpad(to_hex(n), 24, '0'))::uuid, '{queue}', '{type}', jsonb_build_object('pad', repeat('x', 70)),
        day.at, n, 5, 3, 100, CASE n % 4 WHEN 0 THEN 'cancelled' ELSE '{state}' END, 1, 1, day.at, day.at, day.at,
        CASE '{state}' WHEN 'dead_letter' THEN date '9999-12-31' ELSE (day.at AT TIME ZONE 'UTC')::date END
    FROM generate_series(1, {jobs}) AS n,
        LATERAL (SELECT clock_timestamp() - (1 + n % {days}) * interval '1 day' AS at) AS day
    WHERE '{state}' <> 'dead_letter' OR n % 4 <> 0
"""
_LEDGER = """
    INSERT INTO jobs_attempt (
        id, job_id, queue_id, fence, run_at, started_at, finished_at, generation, attempt, outcome
    )
    SELECT gen_random_uuid(), job.id, job.queue_id, 1, job.run_at, job.run_at, job.finished_at, 1, 1, 'success'
    FROM jobs_job AS job
    WHERE job.queue_id = '{queue}' AND job.finished_at IS NOT NULL
"""
# Workflows that ended, in layers each step of which waited for all of the one before; what a project has besides.
_FLOWS = """
    INSERT INTO jobs_workflow (id, project_id, name, created_at, generation, priority, dedicated)
    SELECT ('01700000' || lpad(to_hex(n), 24, '0'))::uuid, '{project}', '', clock_timestamp(), 1, 0, FALSE
    FROM generate_series(0, {flows} - 1) AS n
"""
_ENDED = """
    INSERT INTO jobs_job (
        id, queue_id, workflow_id, type, payload, run_at, rank, max_attempts, max_losses, max_snoozes, state, attempt, fence,
        has_dependents, created_at, started_at, finished_at, shelved_on
    )
    SELECT
        ('01800004' || lpad(to_hex(n), 24, '0'))::uuid, '{queue}', ('01700000' || lpad(to_hex(n / {steps}), 24, '0'))::uuid,
        '{type}', '{{}}', day.at, n, 5, 3, 100, 'completed', 1, 1, TRUE, day.at, day.at, day.at,
        (day.at AT TIME ZONE 'UTC')::date
    FROM generate_series(0, {flows} * {steps} - 1) AS n,
        LATERAL (SELECT clock_timestamp() - (1 + n / {steps} % {days}) * interval '1 day' AS at) AS day
"""
_EDGES = """
    INSERT INTO jobs_dependency (parent_id, child_id, settled_at)
    SELECT
        ('01800004' || lpad(to_hex((n / {layer} - 1) * {layer} + parent), 24, '0'))::uuid,
        ('01800004' || lpad(to_hex(n), 24, '0'))::uuid, clock_timestamp()
    FROM generate_series(0, {flows} * {steps} - 1) AS n, generate_series(0, {layer} - 1) AS parent
    WHERE n % {steps} >= {layer}
"""
_NAMED = """
    INSERT INTO jobs_step (workflow_id, name, job_id)
    SELECT job.workflow_id, 'j' || job.rank % {steps}, job.id FROM jobs_job AS job
    WHERE job.queue_id = '{queue}' AND job.workflow_id IS NOT NULL AND job.state = 'completed'
"""
_SAID = """
    INSERT INTO jobs_publication (workflow_id, key, job_id, created_at)
    SELECT ('01700000' || lpad(to_hex(n % {flows}), 24, '0'))::uuid, md5(n::text), gen_random_uuid(), clock_timestamp()
    FROM generate_series(1, {rows} / 100) AS n
"""
_BATCHES = """
    INSERT INTO jobs_batch (id, project_id, queue_id, size, created_at)
    SELECT gen_random_uuid(), '{project}', CASE n % 2 WHEN 0 THEN '{queue}'::uuid END, 1, clock_timestamp()
    FROM generate_series(1, {rows} / 200) AS n
"""
_SCHEDULES = """
    INSERT INTO jobs_schedule (
        id, queue_id, name, cron_expr, timezone, job_type, payload, overlap_policy, catchup_policy, catchup_max,
        jitter_seconds, paused_by, pause_reason, trouble, created_at
    )
    SELECT
        gen_random_uuid(), '{queue}', 'bench-' || n, '* * * * *', 'UTC', '{type}', '{{}}', 'skip', 'skip', 10, 0,
        '', '', '', clock_timestamp()
    FROM generate_series(1, {schedules}) AS n
"""
_TICKS = """
    INSERT INTO jobs_tick (schedule_id, scheduled_for, outcome, why)
    SELECT schedule.id, clock_timestamp() - n * interval '1 minute', 'skipped', ''
    FROM jobs_schedule AS schedule, generate_series(1, {rows} / 50 / {schedules}) AS n
"""
_MINUTES = """
    INSERT INTO queues_minutestat (queue_id, minute, completed, failed, dead_lettered, lost)
    SELECT '{queue}', date_trunc('minute', clock_timestamp()) - n * interval '1 minute', 1, 0, 0, 0
    FROM generate_series(1, {days} * 1440) AS n
"""
_EVENTS = """
    INSERT INTO audit_event (project_id, first_seq, last_seq, at, queue_id, kind, job_ids)
    SELECT '{project}', n, n, clock_timestamp() - n % {days} * interval '1 day', '{queue}', 'job.started', ARRAY[gen_random_uuid()]
    FROM generate_series(1, {rows} / 5) AS n
"""
_HANGING = (_FLOWS, _ENDED, _EDGES, _NAMED, _SAID, _BATCHES, _SCHEDULES, _TICKS, _MINUTES, _EVENTS)

_standing = Statement(
    "SELECT EXISTS (SELECT FROM queues_queue WHERE id = %(queue)s)"
    " OR EXISTS (SELECT FROM accounts_project WHERE id = %(project)s)",
    bool,
)
_finished = Statement(
    "SELECT EXISTS (SELECT FROM jobs_job WHERE queue_id = %(queue)s AND shelved_on < current_date)", bool
)  # what was cancelled just now goes when its day is over
_rows = Statement(
    "SELECT (SELECT count(*) FROM jobs_job WHERE queue_id = %(queue)s)"
    " + (SELECT count(*) FROM jobs_attempt WHERE queue_id = %(queue)s)"
    " + (SELECT count(*) FROM audit_event WHERE project_id = %(project)s)"
    " + CASE WHEN %(whole)s THEN (SELECT count(*) FROM jobs_dependency) + (SELECT count(*) FROM jobs_step)"
    " + (SELECT count(*) FROM jobs_workflow) + (SELECT count(*) FROM jobs_publication)"
    " + (SELECT count(*) FROM jobs_tick) + (SELECT count(*) FROM queues_minutestat WHERE queue_id = %(queue)s)"
    " + (SELECT count(*) FROM jobs_batch WHERE project_id = %(project)s) ELSE 0 END",
    int,
)


@dataclass(frozen=True, slots=True)
class Doomed:
    """A queue, and its project where that goes too."""

    queue: Queue
    project: Project | None = None

    def delete(self) -> None:
        if self.project:
            services.delete_project(project=self.project, actor=SYSTEM, cancel=True)
        else:
            services.delete_queue(queue=self.queue, actor=SYSTEM, cancel=True)

    def is_there(self) -> bool:
        return _standing(queue=self.queue.pk, project=self._project)[0]

    def has_finished(self) -> bool:
        """Is anything left of it in the days that are over?"""
        return _finished(queue=self.queue.pk)[0]

    def rows(self) -> int:
        return _rows(queue=self.queue.pk, project=self._project, whole=self.project is not None)[0]

    @property
    def _project(self) -> UUID | None:
        return self.project.pk if self.project else None


def a_queue(other: Queue, rows: int) -> Doomed:
    """A queue of so many rows, with a tenth as many of another one among them."""
    doomed = Queue.objects.create(project=other.project, name="doomed")
    _cut(JOB, ATTEMPT)
    _jobs(doomed, other, rows // 2)
    return Doomed(doomed)


def a_project(other: Queue, rows: int) -> Doomed:
    """A project of about so many: half of them jobs and ledger, the rest what hangs on a project.

    One workflow for five thousand rows; half of these ended, the others wait.
    """
    project = Project.objects.create(organization=other.project.organization, name="Doomed", slug="doomed")
    queue, flows = Queue.objects.create(project=project, name="bench"), max(rows // 10_000, 1)
    _cut(JOB, ATTEMPT, EVENT)
    how: dict[str, Any] = {"project": project.pk, "queue": queue.pk, "type": TYPE, "flows": flows, "rows": rows}
    for text in _HANGING:
        run(text.format(**how, days=DAYS, steps=STEPS, layer=LAYER, schedules=SCHEDULES))
    _jobs(queue, other, rows // 4)
    for _ in range(flows):
        services.submit_workflow(project=project, jobs=shape(STEPS, LAYER))
    return Doomed(queue, project)


KINDS = {"queue": a_queue, "project": a_project}


def _cut(*tables: Any) -> None:
    today = datetime.now(UTC).date()
    for table in tables:
        for day in range(DAYS + 1):
            cut_day(table, today - timedelta(days=day))


def _jobs(doomed: Queue, other: Queue, jobs: int) -> None:
    made: Sequence[tuple[str, UUID, str, int]] = (
        ("01800001", doomed.pk, "completed", jobs - jobs // 5),
        ("01800002", doomed.pk, "dead_letter", jobs // 10),
        ("01800003", other.pk, "completed", max(jobs // 10, DAYS)),
    )
    for prefix, queue, state, count in made:
        run(_JOBS.format(prefix=prefix, queue=queue, state=state, jobs=count, type=TYPE, days=DAYS))
    run(_LEDGER.format(queue=doomed.pk))
    backlog(doomed, jobs // 10)

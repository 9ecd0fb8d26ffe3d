-- Charge the gate for what claim_roomy.sql has just taken. Should the places be gone, the limits changed or the breaker be
-- open by now, the whole transaction fails: nothing was claimed. A run counts from now on: where the gate may have been full
-- since the jobs were found, for it is not roomy any more or some time has passed, they start now, not when they were found.
WITH charged AS (
    UPDATE queues_gate AS gate
    SET in_flight = gate.in_flight + nullif(current_setting('fencepost.jobs', TRUE), '')::integer
    WHERE gate.queue_id = %(queue_id)s::uuid
      AND gate.shard = nullif(current_setting('fencepost.shard', TRUE), '')::smallint
      AND nullif(current_setting('fencepost.jobs', TRUE), '')::integer > 0
      AND gate.opens_after IS NULL
      AND gate.breaker = 'closed'
      AND (gate.cap IS NULL OR gate.in_flight + nullif(current_setting('fencepost.jobs', TRUE), '')::integer <= gate.cap)
    RETURNING
        gate.cap - gate.in_flight < 100 OR clock_timestamp() > transaction_timestamp() + interval '5 milliseconds' AS late
),

moved AS (
    UPDATE jobs_job_live AS job
    SET
        started_at = clock_timestamp(),
        deadline_at = job.deadline_at + (clock_timestamp() - job.started_at)
    WHERE job.ctid = ANY(nullif(current_setting('fencepost.places', TRUE), '')::tid [])
      AND (SELECT charged.late FROM charged)
)

SELECT
    CASE
        WHEN current_setting('fencepost.jobs', TRUE) <> '0' AND NOT EXISTS (SELECT FROM charged)
            THEN set_config('fencepost.jobs', 'the gate has no place left', TRUE)::integer
    END;

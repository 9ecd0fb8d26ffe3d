-- Count what runs of one queue and stamp it with the shard that counts it. Only when nothing was locked by somebody
-- who may be ending it does the gate open; else the next turn counts again.
WITH running AS MATERIALIZED (
    SELECT job.id, job.ctid AS place, row_number() OVER (ORDER BY job.id) - 1 AS turn
    FROM jobs_job_live AS job
    WHERE job.state = 'running' AND job.queue_id = %(queue_id)s::uuid
),

shards AS MATERIALIZED (
    SELECT count(*) AS number FROM queues_gate AS gate WHERE gate.queue_id = %(queue_id)s::uuid
),

held AS MATERIALIZED (
    SELECT job.id, mod(running.turn, shards.number)::smallint AS shard
    FROM running
    CROSS JOIN shards
    INNER JOIN jobs_job_live AS job ON running.place = job.ctid
    WHERE job.state = 'running'
    ORDER BY running.id
    FOR NO KEY UPDATE OF job SKIP LOCKED
),

stamped AS (
    UPDATE jobs_job_live AS job
    SET shard = held.shard
    FROM held
    WHERE job.id = held.id
),

opened AS (
    UPDATE queues_gate AS gate
    SET
        in_flight = (SELECT count(*) FROM held WHERE held.shard = gate.shard),
        opens_after = CASE
            WHEN (SELECT count(*) FROM held) < (SELECT count(*) FROM running) THEN gate.opens_after
        END
    WHERE gate.queue_id = %(queue_id)s::uuid
    RETURNING gate.opens_after IS NULL AS open
)

SELECT bool_and(opened.open) FROM opened;

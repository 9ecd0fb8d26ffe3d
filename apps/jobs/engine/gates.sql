-- Which of these queues have limits and something queued, what their gates admit now, and if it is nothing for want
-- of tokens, in how many seconds there is one. A gate that is new is looked at again soon. While the breaker is not
-- closed all shards count as one, as they do for claim_gate.sql. Read without locks: whoever claims looks again.
-- `session_id` is whose jobs count too, of those that wait for one worker (NULL: nobody's). `roomy`: a gate that only counts
-- has so many places left that all who claim now will find one (claim_roomy.sql); `types`: those of which something waits.
WITH aim AS MATERIALIZED (
    SELECT own.target
    FROM workers_session AS session
    CROSS JOIN LATERAL unnest(
        CASE
            WHEN session.reservation_id IS NULL THEN ARRAY[
                session.worker_id,
                uuid '00000000-0000-0000-0000-000000000001', uuid '00000000-0000-0000-0000-000000000002'
            ]
            ELSE ARRAY[session.reservation_id]
        END
    ) AS own (target)
    WHERE session.id = %(session_id)s::uuid
),

line AS MATERIALIZED (
    SELECT
        queue.id, queue.rate_per_second AS rate, coalesce(queue.burst, greatest(ceil(queue.rate_per_second), 1)) AS burst,
        gate.shard, gate.cap, gate.in_flight, gate.tokens, gate.refilled_at, gate.breaker, gate.reopens_at, gate.probe_job,
        gate.opens_after
    FROM unnest(%(queues)s::uuid []) AS asked (id)
    INNER JOIN queues_queue AS queue ON asked.id = queue.id
    INNER JOIN queues_gate AS gate ON queue.id = gate.queue_id
    WHERE (queue.paused_at IS NULL OR queue.paused_until <= clock_timestamp())
),

admits AS (
    SELECT
        line.id,
        bool_or(line.opens_after IS NOT NULL) AS new,
        CASE
            WHEN bool_and(line.breaker = 'closed') THEN sum(greatest(coalesce(line.cap - line.in_flight, 1000000), 0))
            ELSE coalesce(sum(line.cap - line.in_flight), 1000000)
        END AS places,
        min(line.rate) AS rate,
        max(least(line.burst, line.tokens + line.rate * extract(EPOCH FROM clock_timestamp() - line.refilled_at)::float8))
            AS tokens,
        bool_and(
            line.breaker = 'closed'
            OR line.breaker = 'open' AND line.reopens_at <= clock_timestamp()
            OR line.breaker = 'half_open' AND line.probe_job IS NULL
        ) AS lets_through,
        bool_and(line.breaker = 'closed' AND line.rate IS NULL) AND max(line.cap - line.in_flight) >= 100 AS roomy
    FROM line
    GROUP BY line.id
)

SELECT
    admits.id,
    CASE WHEN admits.new THEN 0.2 WHEN admits.tokens < 1 THEN (1 - admits.tokens) / admits.rate ELSE 0 END AS wait_seconds,
    coalesce(admits.roomy, FALSE) AS roomy,
    coalesce(waiting.types, '{}') AS types
FROM admits
CROSS JOIN LATERAL (
    SELECT array_agg(offer.type) AS types
    FROM unnest(%(types)s::text []) AS offer (type)
    WHERE EXISTS (
        SELECT FROM jobs_job_live AS job
        WHERE job.queue_id = admits.id AND job.type = offer.type AND job.state = 'queued' AND NOT job.key_full
          AND job.target IS NULL
    )
) AS waiting
WHERE (admits.new OR admits.places > 0 AND admits.lets_through)
  AND (
      -- a worker that is reserved takes nothing of the open line
      waiting.types IS NOT NULL
      AND NOT EXISTS (
          SELECT FROM workers_session AS reserved
          WHERE reserved.id = %(session_id)s::uuid AND reserved.reservation_id IS NOT NULL
      )
      OR EXISTS (
          SELECT
          FROM aim
          CROSS JOIN unnest(%(types)s::text []) AS offer (type)
          CROSS JOIN LATERAL (
              SELECT 1 FROM jobs_job_live AS job
              WHERE job.queue_id = admits.id AND job.target = aim.target AND job.target IS NOT NULL AND job.type = offer.type
                AND job.state = 'queued' AND NOT job.key_full
              LIMIT 1
          ) AS lane
      )
  );

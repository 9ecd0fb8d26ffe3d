-- Charge the gate for what claim_roomy.sql or claim_lane.sql has just taken. Should the places be gone, the limits changed or
-- the breaker be open by now, the whole transaction fails: nothing was claimed. A run starts when its job is found, a moment
-- before it is charged: `before` is how many had been admitted then and were gone. Had nobody left since, there would be a
-- place for these all the same; so however the charges of those who look at once may come, no moment sees one run too many.
-- The plan is small on purpose: who has waited for the row builds it anew, and all others wait for him.
WITH charged AS (
    UPDATE queues_gate AS gate
    SET
        in_flight = gate.in_flight + nullif(current_setting('fencepost.jobs', TRUE), '')::integer,
        admitted = gate.admitted + nullif(current_setting('fencepost.jobs', TRUE), '')::integer
    WHERE gate.queue_id = %(queue_id)s::uuid
      AND gate.shard = nullif(current_setting('fencepost.shard', TRUE), '')::smallint
      AND nullif(current_setting('fencepost.jobs', TRUE), '')::integer > 0
      AND gate.opens_after IS NULL
      AND gate.breaker = 'closed'
      AND gate.in_flight + nullif(current_setting('fencepost.jobs', TRUE), '')::integer <= gate.cap
      AND gate.admitted + nullif(current_setting('fencepost.jobs', TRUE), '')::integer
          <= gate.cap + nullif(current_setting('fencepost.before', TRUE), '')::bigint
    RETURNING gate.shard
)

SELECT
    CASE
        WHEN current_setting('fencepost.jobs', TRUE) <> '0' AND NOT EXISTS (SELECT FROM charged)
            THEN set_config('fencepost.jobs', 'the gate has no place left', TRUE)::integer
    END;

-- Forget some minutes of the rollup of long ago, of every queue the oldest first.
WITH old AS MATERIALIZED (
    SELECT minute.queue_id, minute.minute
    FROM queues_queue AS queue
    CROSS JOIN LATERAL (
        SELECT one.queue_id, one.minute
        FROM queues_minutestat AS one
        WHERE one.queue_id = queue.id
          AND one.minute < clock_timestamp() - %(days)s::integer * interval '1 day'
        ORDER BY one.minute
        LIMIT %(limit)s
    ) AS minute
    LIMIT %(limit)s
),

gone AS (
    DELETE FROM queues_minutestat AS stat
    USING old
    WHERE stat.queue_id = old.queue_id AND stat.minute = old.minute
    RETURNING stat.queue_id
)

SELECT count(*) FROM gone;

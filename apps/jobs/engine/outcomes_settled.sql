-- Since when outcomes may still come to light: nobody reports an end that is earlier than the beginning of their own
-- transaction, ours included. And since when the first of the queues that have a breaker counts; NULL: none has one.
SELECT
    clock_timestamp() AS now,
    (
        SELECT min(somebody.xact_start)
        FROM pg_stat_activity AS somebody
        WHERE somebody.datname = current_database()
    ) AS at,
    (SELECT min(queue.breaker_since) FROM queues_queue AS queue WHERE queue.breaker_window IS NOT NULL) AS since;

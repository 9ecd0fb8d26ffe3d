-- Hold the schedules whose time has come, the newest first: what is a year behind must not keep what is on time.
-- The time is asked for once: compared with a function that may change, every schedule would be looked at.
SELECT
    schedule.id, schedule.queue_id, schedule.cron_expr, schedule.timezone, schedule.job_type, schedule.payload::text,
    schedule.priority, schedule.overlap_policy, schedule.catchup_policy, schedule.catchup_max, schedule.jitter_seconds,
    schedule.deadline_seconds, schedule.next_run_at, schedule.last_job_id, clock_timestamp() AS at
FROM jobs_schedule AS schedule
WHERE schedule.paused_at IS NULL
  AND schedule.next_run_at <= (SELECT clock_timestamp())
  AND (%(only)s::uuid IS NULL OR schedule.id = %(only)s::uuid)
ORDER BY schedule.next_run_at DESC
LIMIT %(limit)s
FOR NO KEY UPDATE SKIP LOCKED;

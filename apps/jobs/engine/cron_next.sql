-- When the next schedule is due, in seconds from now; the loop sleeps until then.
SELECT extract(EPOCH FROM schedule.next_run_at - clock_timestamp())::float8
FROM jobs_schedule AS schedule
WHERE schedule.paused_at IS NULL AND schedule.next_run_at IS NOT NULL
ORDER BY schedule.next_run_at
LIMIT 1;

"""What test_query_plans lets pass."""

# Statements of engines that may read more than an index leads to, each with its reason; …
MAY_SCAN = {
    "jobs/engine/purge.sql": "an operator's verb; queued jobs in id order have no index of their own",
    "jobs/engine/prune_dead.sql": "once a minute, over dead letters alone",
    "jobs/engine/prune_groups.sql": "once an hour, over batches and workflows",
    "jobs/engine/prune_sessions.sql": "once a minute, over sessions",
    "jobs/engine/prune_shelves.sql": "once an hour and day",
    "jobs/engine/prune_ticks.sql": "once a minute, over schedules; of their ticks the oldest",
    "jobs/engine/prune_minutes.sql": "once a minute, over queues; of their minutes the oldest",
    "jobs/engine/rollup_due.sql": "a table of one row",
    "jobs/engine/wake_left.sql": "over parents that one transaction could not serve, of which there is hardly ever one",
    "jobs/engine/rollup.sql": "of the ledger the newest minutes, which may be all there is of a day, as tested below",
    "jobs/engine/vanish_ticks.sql": "of a deleted queue; over schedules, and of their ticks those that go",
    "jobs/engine/vanish_batches.sql": "of a deleted queue; over batches, of which there are few",
    "jobs/engine/vanish_workflows.sql": "of a deleted project; over workflows, batches and what was published",
    "jobs/engine/unannounced.sql": "read by people, and once a minute; over sessions alone, as tested below",
    "jobs/engine/metrics_whole.sql": "every few seconds at most; over sessions, and of the outbox the first",
    "jobs/engine/line.sql": "read by people; over workflows alone, as tested below",
    "jobs/engine/why.sql": "read by people, of one job; over sessions alone, as tested below",
}
# … and those that have no plan to keep, or one that is kept elsewhere.
NOT_HERE = {
    "jobs/engine/list_dead.sql": "read by pages: tests/api",
    "jobs/engine/list_jobs.sql": "read by pages: tests/api",
    "jobs/engine/wake.sql": "reads no table",
    "jobs/engine/wake_promoter.sql": "reads no table",
    "jobs/engine/admit_turn.sql": "reads no table",
    "jobs/engine/server.sql": "reads no table",
    "jobs/engine/rollup_turn.sql": "reads no table",
    "jobs/engine/claim_turn.sql": "reads no table",
    "jobs/engine/cron_patience.sql": "reads no table",
    "jobs/engine/zones.sql": "reads no table",
}

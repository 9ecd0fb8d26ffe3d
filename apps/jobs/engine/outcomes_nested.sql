-- Whether what comes next in this transaction may be planned with nested loops. The newest of the ledger is not in the
-- planner's statistics yet: it takes thousands of rows for one, and would look through all queues for each of them.
SELECT set_config('enable_nestloop', %(loops)s::text, TRUE);

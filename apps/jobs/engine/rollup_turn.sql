-- Whether it is ours to sum up: nobody else does just now. The turn ends with the transaction.
SELECT 1 WHERE pg_try_advisory_xact_lock(hashtext('fencepost rollup'));

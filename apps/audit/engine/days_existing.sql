-- List a table's days, oldest first, with those that a crash left detached or on their way out.
SELECT
    part.relname::text AS name,
    to_date(right(part.relname, 8), 'YYYYMMDD') AS day,
    (clock_timestamp() AT TIME ZONE 'UTC')::date - to_date(right(part.relname, 8), 'YYYYMMDD') AS age,
    tie.inhrelid IS NOT NULL AS attached,
    coalesce(tie.inhdetachpending, FALSE) AS leaving
FROM pg_class AS part
LEFT JOIN pg_inherits AS tie ON part.oid = tie.inhrelid
WHERE part.relname ~ ('^' || %(table)s::text || '_d[0-9]{8}$')
  AND part.relkind = 'r'
  AND part.relnamespace = (SELECT home.relnamespace FROM pg_class AS home WHERE home.oid = to_regclass(%(table)s::text))
ORDER BY day;

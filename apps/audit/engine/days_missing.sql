-- Name the UTC days, from so many days ago to so many days on, for which a table has no partition.
SELECT asked.day::date AS day
FROM generate_series(
    (clock_timestamp() AT TIME ZONE 'UTC')::date - %(back)s::integer * interval '1 day',
    (clock_timestamp() AT TIME ZONE 'UTC')::date + %(ahead)s::integer * interval '1 day',
    interval '1 day'
) AS asked (day)
WHERE to_regclass(%(table)s::text) IS NOT NULL
  AND NOT EXISTS (
      SELECT
      FROM pg_inherits AS tie
      INNER JOIN pg_class AS part ON tie.inhrelid = part.oid
      WHERE tie.inhparent = to_regclass(%(table)s::text)
        AND part.relname = %(table)s::text || '_d' || to_char(asked.day, 'YYYYMMDD')
  )
ORDER BY asked.day;

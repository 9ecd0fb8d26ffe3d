-- Count the UTC days after today, without a gap, that a table has a partition for.
SELECT count(*)
FROM (
    SELECT
        to_date(right(part.relname, 8), 'YYYYMMDD') AS day,
        row_number() OVER (ORDER BY part.relname) AS place
    FROM pg_inherits AS tie
    INNER JOIN pg_class AS part ON tie.inhrelid = part.oid
    WHERE tie.inhparent = to_regclass(%(table)s::text)
      AND part.relname > %(table)s::text || '_d' || to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYYMMDD')
      AND part.relname ~ ('^' || %(table)s::text || '_d[0-9]{8}$')
) AS cut
WHERE cut.day = (clock_timestamp() AT TIME ZONE 'UTC')::date + cut.place::integer;

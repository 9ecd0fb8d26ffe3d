-- Give the oldest facts of the outbox their numbers and move them to the log; one relay at a time, another
-- one gets nothing. In READ COMMITTED a row that the relay before us has just moved is skipped by the DELETE.
-- Consecutive facts of one project, kind, state, queue and second become one event of about a thousand jobs at
-- most. They keep their order: whoever changes a job holds its row, so its facts stand in the order of its life.
-- `after` spares the walk over facts that were moved and cannot be removed yet, see relay.py.
WITH alone AS MATERIALIZED (
    SELECT pg_try_advisory_xact_lock(hashtext('fencepost'), hashtext('relay')) AS mine
),

taken AS (
    DELETE FROM audit_outbox AS fact
    USING alone
    WHERE alone.mine
      AND fact.id = ANY(ARRAY(
          SELECT old.id FROM audit_outbox AS old WHERE old.id > %(after)s::bigint ORDER BY old.id LIMIT %(limit)s
      ))
    RETURNING
        fact.id, fact.project_id, fact.queue_id, fact.at, fact.kind, fact.state, fact.job_ids, fact.attempts,
        fact.errors, fact.data, cardinality(fact.job_ids) AS jobs
),

marked AS (
    SELECT
        taken.*,
        (
            taken.kind, taken.state, taken.queue_id, taken.data, date_trunc('second', taken.at), taken.jobs > 0
        ) IS DISTINCT FROM (
            lag(taken.kind) OVER line, lag(taken.state) OVER line, lag(taken.queue_id) OVER line,
            lag(taken.data) OVER line, date_trunc('second', lag(taken.at) OVER line), TRUE
        ) AS starts
    FROM taken
    WINDOW line AS (PARTITION BY taken.project_id ORDER BY taken.id)
),

grouped AS (
    SELECT
        marked.*,
        count(*) FILTER (WHERE marked.starts) OVER (PARTITION BY marked.project_id ORDER BY marked.id) AS run
    FROM marked
),

placed AS (
    SELECT
        grouped.*,
        div(
            sum(grouped.jobs) OVER (PARTITION BY grouped.project_id, grouped.run ORDER BY grouped.id) - grouped.jobs,
            %(pack)s::bigint
        ) AS pack
    FROM grouped
),

packed AS (
    SELECT
        placed.project_id, placed.queue_id, placed.kind, placed.state, placed.data,
        min(placed.id) AS id,
        max(placed.at) AS at,
        coalesce(array_agg(job.id ORDER BY placed.id, job.place) FILTER (WHERE job.id IS NOT NULL), '{}') AS job_ids,
        CASE WHEN count(job.attempt) > 0 THEN array_agg(job.attempt ORDER BY placed.id, job.place) END AS attempts,
        CASE WHEN count(job.error) > 0 THEN array_agg(job.error ORDER BY placed.id, job.place) END AS errors,
        greatest(count(job.id), 1) AS numbers
    FROM placed
    LEFT JOIN LATERAL unnest(placed.job_ids, placed.attempts, placed.errors)
    WITH ORDINALITY AS job (id, attempt, error, place) ON TRUE
    GROUP BY placed.project_id, placed.queue_id, placed.kind, placed.state, placed.data, placed.run, placed.pack
),

counted AS (
    SELECT packed.*, sum(packed.numbers) OVER (PARTITION BY packed.project_id ORDER BY packed.id) AS upto
    FROM packed
),

head AS (
    INSERT INTO audit_head (project_id, seq)
    SELECT counted.project_id, max(counted.upto) FROM counted GROUP BY counted.project_id ORDER BY counted.project_id
    ON CONFLICT (project_id) DO UPDATE SET seq = audit_head.seq + excluded.seq
    RETURNING project_id, seq
),

-- A fact that waited until its day was pruned is told today.
told AS (
    INSERT INTO audit_event (
        project_id, first_seq, last_seq, queue_id, at, kind, state, job_ids, attempts, errors, data
    )
    SELECT
        counted.project_id,
        head.seq - last.upto + counted.upto - counted.numbers + 1,
        head.seq - last.upto + counted.upto,
        counted.queue_id,
        CASE
            WHEN to_regclass('audit_event_d' || to_char(counted.at AT TIME ZONE 'UTC', 'YYYYMMDD')) IS NULL
                THEN clock_timestamp()
            ELSE counted.at
        END,
        counted.kind, counted.state, counted.job_ids, counted.attempts, counted.errors, counted.data
    FROM counted
    INNER JOIN head ON counted.project_id = head.project_id
    INNER JOIN (SELECT c.project_id, max(c.upto) AS upto FROM counted AS c GROUP BY c.project_id) AS last
        ON counted.project_id = last.project_id
)

SELECT
    head.project_id, head.seq, all_taken.facts, all_taken.last_id,
    pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS oldest,
    pg_current_xact_id()::text::bigint AS own
FROM head
CROSS JOIN (SELECT count(*) AS facts, max(taken.id) AS last_id FROM taken) AS all_taken;

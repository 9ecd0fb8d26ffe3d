-- Take down what stages of workflows publish, each once: the key is the SHA-256 of the type, a zero byte and the payload as
-- PostgreSQL writes jsonb. What another stage has published is missing from the answer; one that is just doing so is
-- waited for. Keys are taken in one order by all.
WITH asked AS MATERIALIZED (
    SELECT
        given.workflow_id, given.job_id, given.parent_id,
        encode(
            sha256(convert_to(given.type, 'UTF8') || '\x00'::bytea || convert_to(given.payload::jsonb::text, 'UTF8')), 'hex'
        ) AS key
    FROM unnest(
        %(workflows)s::uuid [], %(parents)s::uuid [], %(ids)s::uuid [], %(types)s::text [],
        string_to_array(%(payloads)s::text, chr(31))
    ) AS given (workflow_id, parent_id, job_id, type, payload)
),

taken AS (
    INSERT INTO jobs_publication (workflow_id, key, job_id, created_at)
    SELECT asked.workflow_id, asked.key, asked.job_id, clock_timestamp()
    FROM asked
    ORDER BY asked.workflow_id, asked.key
    ON CONFLICT (workflow_id, key) DO NOTHING
    RETURNING job_id
)

-- The parents have just ended, in this transaction.
SELECT taken.job_id, parent.priority
FROM taken
INNER JOIN asked ON taken.job_id = asked.job_id
INNER JOIN jobs_job AS parent
    ON asked.parent_id = parent.id AND parent.shelved_on BETWEEN %(since)s::date AND %(until)s::date;

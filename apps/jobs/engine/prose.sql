-- Keep what a model said of the failures it was asked about, unless it was asked again since, or nothing is left of them.
-- No text: it did not answer, and what it said before stays.
UPDATE queues_failuresummary AS kept
SET
    summary = coalesce(%(text)s::text, kept.summary),
    model = CASE WHEN %(text)s::text IS NULL THEN kept.model ELSE %(model)s::text END,
    told_of = CASE WHEN %(text)s::text IS NULL THEN kept.told_of ELSE %(fingerprint)s::text END,
    told_at = CASE WHEN %(text)s::text IS NULL THEN kept.told_at ELSE clock_timestamp() END,
    state = CASE
        WHEN %(text)s::text IS NULL THEN 'unavailable'
        WHEN kept.fingerprint = %(fingerprint)s::text THEN 'current'
        ELSE 'stale'
    END
WHERE kept.queue_id = %(queue_id)s::uuid AND kept.asked_at = %(asked_at)s::timestamptz AND kept.fingerprint <> ''
RETURNING kept.state;

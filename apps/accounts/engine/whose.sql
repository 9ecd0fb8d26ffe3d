-- Whose a token is, by its hash, with that person's row; nothing of one that was revoked, has expired or whose user was
-- shut out. Every request asks.
SELECT
    token.id,
    token.kind = 'api',
    token.scopes,
    token.organization_id,
    token.project_id,
    token.expires_at,
    token.last_used_at,
    person.id,
    person.password,
    person.last_login,
    person.is_superuser,
    person.email,
    person.name,
    person.is_active,
    person.is_staff,
    person.date_joined
FROM accounts_apitoken AS token
INNER JOIN accounts_user AS person ON token.user_id = person.id
WHERE token.hash = %(hash)s::bytea
  AND token.revoked_at IS NULL
  AND (token.expires_at IS NULL OR token.expires_at > clock_timestamp())
  AND person.is_active;

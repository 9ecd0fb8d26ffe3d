-- Which migrations this database has seen.
SELECT applied.app, applied.name FROM django_migrations AS applied;

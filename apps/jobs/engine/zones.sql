-- Every time zone that this server knows by name.
SELECT zone.name FROM pg_timezone_names AS zone;

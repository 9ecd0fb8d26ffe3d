-- What time it is by the clock that claims go by.
SELECT clock_timestamp();

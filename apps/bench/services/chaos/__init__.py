"""manage.py chaos: a whole site under faults, and then the question whether its story is true. Kept light: workers import it."""

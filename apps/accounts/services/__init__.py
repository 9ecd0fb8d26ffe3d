"""What people do with accounts; each verb changes and records in one transaction."""

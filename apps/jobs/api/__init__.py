"""The endpoints of jobs, and of queues where their jobs matter."""

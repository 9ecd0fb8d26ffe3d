"""The ground that every endpoint stands on, and the endpoints of accounts themselves."""

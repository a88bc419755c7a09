"""One job, start to end."""

"""The tests: `from tests.servers import PostgresServer` works from the repository's root."""

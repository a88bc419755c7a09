"""Example applications: what a user of the library would write. Nothing in here is part of the wheel."""

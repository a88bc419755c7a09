"""Durable background jobs as components of a dependency-injection system."""

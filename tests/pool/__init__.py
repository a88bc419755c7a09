"""Pools, on the real adapters. The oracle is a file that handlers append to, or the store's own rows."""

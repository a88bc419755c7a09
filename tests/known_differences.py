"""Cases of the contract that a backend fails on purpose, and why. One that passes after all fails the run."""

_NO_TRANSACTIONS = "the memory of a process has no transactions to take part in"

KNOWN_DIFFERENCES: dict[tuple[str, str], str] = {
    ("memory", "a_job_is_seen_at_the_commit_and_never_before"): _NO_TRANSACTIONS,
    ("memory", "a_rollback_leaves_nothing"): _NO_TRANSACTIONS,
    ("memory", "a_known_id_is_a_duplicate_in_a_transaction_too"): _NO_TRANSACTIONS,
    ("memory", "a_delay_in_a_transaction"): _NO_TRANSACTIONS,
    ("memory", "one_invalid_job_stores_none_and_leaves_the_transaction_usable"): _NO_TRANSACTIONS,
    ("memory", "what_is_no_transaction_is_refused"): _NO_TRANSACTIONS,
    ("memory", "key_and_job_share_the_fate_of_the_transaction"): _NO_TRANSACTIONS,
}

"""Cases of the contract that a backend fails on purpose, and why. One that passes after all fails the run."""

_NO_TRANSACTIONS = "takes part in no transaction of the application's database"
_IN_TRANSACTIONS = (
    "a_job_is_seen_at_the_commit_and_never_before",
    "a_rollback_leaves_nothing",
    "a_known_id_is_a_duplicate_in_a_transaction_too",
    "a_delay_in_a_transaction",
    "one_invalid_job_stores_none_and_leaves_the_transaction_usable",
    "what_is_no_transaction_is_refused",
    "key_and_job_share_the_fate_of_the_transaction",
)
_NO_NEWS = "MySQL and MariaDB tell nobody of what another client wrote: the capability is absent, pools poll"
_WAKING = (
    "an_enqueue_of_another_client_wakes",
    "a_schedule_wakes",
    "what_comes_back_wakes",
    "news_between_two_waits_is_not_lost",
    "without_news_a_wait_ends_at_its_time",
    "an_interrupt_ends_the_present_or_the_next_wait",
)

KNOWN_DIFFERENCES: dict[tuple[str, str], str] = {
    **{(backend, case): _NO_TRANSACTIONS for backend in ("memory", "redis") for case in _IN_TRANSACTIONS},
    **{(backend, case): _NO_NEWS for backend in ("mariadb", "mariadb-portable") for case in _WAKING},
}

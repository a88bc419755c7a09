"""How a value that is refused is told: short, whatever it is, and without trusting it to tell itself."""

TOLD_LIMIT = 80


def told(value: object) -> str:
    """The repr of `value` in at most TOLD_LIMIT characters; its type where it has none.

    A whole number may have more digits than Python writes, and a repr may raise anything.
    """
    if type(value) is str or type(value) is bytes:
        value = value[: TOLD_LIMIT + 1]
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - code of the value's own, which must not hide why the value is refused
        return f"a {type(value).__qualname__}"
    return text if len(text) <= TOLD_LIMIT else f"{text[:TOLD_LIMIT]}..."

"""Text from a job made fit for a terminal or a log: nothing in it is obeyed, and it cannot pose as another line."""

import re

# C0, DEL and C1; line and paragraph separators; marks and overrides that reorder or hide text; half surrogates
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def clean(text: object) -> str:
    """`text` on one line, its control characters spelled out as `\\x1b`."""
    return _UNSAFE.sub(lambda match: match[0].encode("unicode_escape").decode(), str(text))

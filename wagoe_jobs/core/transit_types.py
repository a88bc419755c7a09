"""The vocabulary that the transit writer and reader share: types without a Python equal, and the limits.

`transit.transit_types` is imported here and nowhere else; of that package nothing but these three types is used.
"""

from collections import Counter
from collections.abc import Collection, Hashable

from transit.transit_types import URI, Keyword, Symbol

__all__ = [
    "COLLISION_LIMIT",
    "DECIMAL_BITS",
    "DEPTH_LIMIT",
    "SAFE_INT",
    "SPECIAL",
    "URI",
    "Keyword",
    "Symbol",
    "collide",
]

DEPTH_LIMIT = 200
SAFE_INT = 2**53  # a bare JSON number of this size or more is rounded by readers that have only doubles
DECIMAL_BITS = 2_100  # beyond, decimal digits take quadratic time and may exceed the interpreter's digit limit
COLLISION_LIMIT = 100
SPECIAL = ("~", "^", "`")  # what a string begins with that does not mean itself


def collide(keys: Collection[Hashable]) -> bool:
    """Whether more than COLLISION_LIMIT of `keys` share one hash, so that a dict of them takes quadratic time.

    Hashes of numbers are not salted: whoever chooses the numbers chooses the hashes.
    """
    if len(keys) <= COLLISION_LIMIT:
        return False
    hashes = Counter(map(hash, keys))
    return len(hashes) < len(keys) and max(hashes.values()) > COLLISION_LIMIT

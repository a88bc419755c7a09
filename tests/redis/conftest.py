"""What the tests of the redis store share."""

from collections.abc import Iterator

import pytest

from tests.redis.parts import Parts, open_parts


@pytest.fixture
def parts(redis_url: str) -> Iterator[Parts]:
    """All parts over an empty redis."""
    with open_parts(redis_url) as opened:
        yield opened

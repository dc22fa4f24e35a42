"""A fault must end in one clear line."""

import pytest

from headwater.core.errors import InputError


def fails(match, call, *arguments, **settings):
    """Assert one clear line that holds all words of `match`."""
    with pytest.raises(InputError) as caught:
        call(*arguments, **settings)
    line = str(caught.value)
    assert "\n" not in line
    for word in match.split("|"):
        assert word in line, line

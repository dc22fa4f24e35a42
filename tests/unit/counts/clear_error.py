"""A fault must end in one clear line."""

import pytest

from headwater.core.errors import InputError


def fails(match, call, *arguments, **settings):
    """Assert one clear line that holds all words of `match` and says what to do next."""
    with pytest.raises(InputError) as caught:
        call(*arguments, **settings)
    line = str(caught.value)
    assert "\n" not in line
    for word in match.split("|"):
        assert word in line, line
    assert caught.value.found and caught.value.expected + caught.value.hint, line
    assert caught.value.hint, line

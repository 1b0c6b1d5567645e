"""Simple rules that answer generated datasets without solving them: a lower bound that real answers should exceed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final


def brackets_in_equal_number(brackets: str) -> str:
    """Call a sequence balanced if as many brackets of each kind are opened as are closed; ignore their order.

    Example:
        >>> brackets_in_equal_number("( )"), brackets_in_equal_number(") ("), brackets_in_equal_number("( ]")
        ('1', '1', '0')
    """
    count = Counter(brackets)
    return str(int(all(count[opened] == count[closed] for opened, closed in ("()", "[]", "{}"))))


def letters_in_common(text: str) -> str:
    """Count the letters that two words share, ignoring order: at least the length of their longest common subsequence.

    Example:
        >>> letters_in_common("AB BA")
        '2'
    """
    first, second = text.split()
    return str((Counter(first) & Counter(second)).total())


#: dataset -> the rule that answers its items
RULES: Final[Mapping[str, Callable[[str], str]]] = MappingProxyType(
    {"bps": brackets_in_equal_number, "lcs": letters_in_common}
)

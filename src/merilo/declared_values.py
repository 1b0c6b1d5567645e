"""Faults of values that a person declares (in a plan, a declaration, an argument), in words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pydantic_core import ErrorDetails

#: Pydantic's type of a fault -> what to tell the author; names in braces are Pydantic's.
_FAULTS: Final = {
    "missing": "is missing",
    "unexpected_keyword_argument": "is not a field of this declaration",
    "string_type": "must be a text (put it in quotes)",
    "string_too_short": "must not be empty",
    "string_pattern_mismatch": "must be the name of a file in the study's folder",
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping (name: value)",
    "mapping_type": "must be a mapping (name: value)",
    "dataclass_type": "must be a mapping (name: value)",
    "model_type": "must be a mapping (name: value)",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "literal_error": "must be {expected}",
    "greater_than_equal": "must be {ge:.15g} or more",
    "greater_than": "must be more than {gt:.15g}",
    "less_than_equal": "must be {le:.15g} or less",
    "less_than": "must be less than {lt:.15g}",
}


def fault_text(fault: ErrorDetails) -> str:
    """Say what is wrong with a value, in words for its author."""
    context = fault.get("ctx", {})
    if fault["type"] == "value_error":
        return str(context["error"])
    text = _FAULTS.get(fault["type"])
    return text.format(**context) if text else fault["msg"]


def one_text(faults: Iterable[ErrorDetails]) -> str:
    """Say what is wrong with one value; the faults of a union's members are alternatives."""
    return " or ".join(dict.fromkeys(map(fault_text, faults))).replace(" or must be ", " or ")

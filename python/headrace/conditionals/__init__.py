"""Conditionals: functions whose `if`, `and`, `or` and `not` work on nodes, sample by sample."""

from headrace.conditionals.functions import convert, do_not_convert

__all__ = ["convert", "do_not_convert"]

"""One pure function per gotcha, grouped by theme: Plan -> Finding, Undecided or nothing."""

from kvgate.rules.judge import Case, Judged, judge
from kvgate.rules.registry import rule, rules
from kvgate.rules.verdict import Finding, Undecided, Verdict

__all__ = ["Case", "Finding", "Judged", "Undecided", "Verdict", "judge", "rule", "rules"]

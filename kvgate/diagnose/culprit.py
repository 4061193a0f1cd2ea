"""The line of a log that says what went wrong, as somebody would quote it in a report."""

from __future__ import annotations

import re

from kvgate.diagnose.logtext import clean, log_lines, strip_prefix
from kvgate.diagnose.redact import redact

__all__ = ["culprit"]

_LINE = 20_000
_RAISED = re.compile(r"^(?:[A-Za-z_][\w.]*\.)?[A-Za-z_]\w*(?:Error|Exception|Interrupt)\b:? *\S")
_ASSERTED = re.compile(r"(?i)^(?:AssertionError|GGML_ASSERT|assert\b|terminate called|CUDA error)")
_LOUD = re.compile(r"\b(?:ERROR|CRITICAL|FATAL)\b|(?i:\b(?:error|failed|refused|unsupported)\b)")
_FRAME = re.compile(r'^(?:File "|Traceback \(most recent|During handling|The above exception|\^+)')
# They say that something went wrong elsewhere: the processes that wait for the one that failed.
_ELSEWHERE = re.compile(
    r"Engine core initialization failed|EngineCore failed to start|See (?:root cause|stack trace)"
    r"|EngineDeadError|died unexpectedly|Scheduler hit an exception|Rank \d+ scheduler is dead"
    r"|WorkerProc (?:initialization )?failed|Failed core proc|received (?:SIG|signal)",
    re.IGNORECASE,
)


def culprit(text: str) -> str:
    """The first line of a log that names the failure, without prefix, colours, hosts and paths.

    The first exception counts that isn't about another process's failure, then the first line
    that speaks of an error. Empty where no line does. Never raises: a log is anybody's text.

    >>> culprit("INFO ready\\nERROR [core.py:7] ValueError: 3 heads\\nRuntimeError: See root cause")
    'ValueError: 3 heads'
    """
    lines = [(raw, strip_prefix(clean(raw[:_LINE]))) for raw in log_lines(text) if raw.strip()]
    told = [(raw, line) for raw, line in lines if line and not _FRAME.match(line)]
    own = [(raw, line) for raw, line in told if not _ELSEWHERE.search(line)]
    raised = (line for _, line in own if _RAISED.match(line) or _ASSERTED.match(line))
    loud = (line for raw, line in own if _LOUD.search(clean(raw[:_LINE])))
    return redact(next(raised, "") or next(loud, ""))

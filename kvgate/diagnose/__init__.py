"""Log text and signatures to ranked matches: linear time, bounded memory, nothing executed."""

from kvgate.diagnose.answer import Answer, Found, diagnose
from kvgate.diagnose.matcher import Hit, Matcher
from kvgate.diagnose.redact import redact
from kvgate.diagnose.signature import Signature

__all__ = ["Answer", "Found", "Hit", "Matcher", "Signature", "diagnose", "redact"]

"""Deployment -> Plan: what the engine makes of what was asked."""

from kvgate.plan.build import plan
from kvgate.plan.model import Plan, Unknown

__all__ = ["Plan", "Unknown", "plan"]

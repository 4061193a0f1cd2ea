"""What people really have, parsed into one Deployment: command lines, containers, manifests."""

from kvgate.deployment.configfile import ConfigFiles
from kvgate.deployment.model import Deployment, EnvVar, Given
from kvgate.deployment.node import Node, node_of
from kvgate.deployment.problems import CODES, REFUSED
from kvgate.deployment.read import deployments, engine_option, form_of

__all__ = [
    "CODES",
    "REFUSED",
    "ConfigFiles",
    "Deployment",
    "EnvVar",
    "Given",
    "Node",
    "deployments",
    "engine_option",
    "form_of",
    "node_of",
]

"""The inputs: one table, three layers (file < environment < flag), all problems in one message. Pure."""

from hf_train.inputs.fields import ENV_PREFIX, FIELDS, Field, Group
from hf_train.inputs.model import Inputs, Layers
from hf_train.inputs.parse import parse, read, with_words
from hf_train.inputs.secrets import resolve_secrets, weak_secrets

__all__ = [
    "ENV_PREFIX",
    "FIELDS",
    "Field",
    "Group",
    "Inputs",
    "Layers",
    "parse",
    "read",
    "resolve_secrets",
    "weak_secrets",
    "with_words",
]

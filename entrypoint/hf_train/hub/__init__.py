"""Adapter: the Hugging Face Hub through `huggingface_hub`'s Python API.

Why not the `hf` process: it ends on one 502 while the Job bills on, and it never cancels. `jobs` submits, looks and
cancels; `logs` reads the stream; `repos` looks at what was published.
"""

from hf_train.hub.access import HubAccess
from hf_train.hub.cards import HubCards
from hf_train.hub.jobs import HuggingFaceHub, stored_token
from hf_train.hub.publish import HubPublisher, Identity
from hf_train.hub.tags import HubTags
from hf_train.hub.trackers import HubTrackers

__all__ = [
    "HubAccess",
    "HubCards",
    "HubPublisher",
    "HubTags",
    "HubTrackers",
    "HuggingFaceHub",
    "Identity",
    "stored_token",
]

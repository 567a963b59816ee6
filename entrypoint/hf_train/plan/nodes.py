"""Several nodes: one spec becomes that of each node, in one network group, where torchrun of each finds the first.

The address is static and the rank is ours: torchrun's own rendezvous (`c10d`) ranks nodes by their host names, and the
log that is shown would be any node's. Source of the group's names: huggingface_hub 2.4.0 `hf_api.py` `run_job`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from hf_train.inputs.nodes import ADDRESS
from hf_train.values import NODE, JobSpec, Network

PORT = 29500
"""torchrun's own."""
RENDEZVOUS_S = 1800
"""How long a node waits for the others, which may be queued still; torchrun's own 600 s are less than that may take."""
JOIN = f'export {ADDRESS}="${{HF_NETWORK_GROUP_PREFIX}}node-0"; exec "$@"'
"""Only in the Job is the prefix known."""


def joined(command: tuple[str, ...]) -> tuple[str, ...]:
    """A command that finds the first node in its environment."""
    return ("sh", "-c", JOIN, "hf-train", *command)


def environment(nodes: int, gpus: int) -> Mapping[str, str]:
    """What torchrun of every node is told; nothing when there is one."""
    if nodes == 1:
        return {}
    return {
        "PET_NNODES": str(nodes),
        "PET_NPROC_PER_NODE": str(max(1, gpus)),
        "PET_MASTER_PORT": str(PORT),
        "PET_RDZV_CONF": f"timeout={RENDEZVOUS_S}",
    }


def specs(job: JobSpec, nodes: int, nonce: str) -> tuple[JobSpec, ...]:
    """The spec of each node, the first one first.

    Args:
        job: What they have in common.
        nodes: How many there are.
        nonce: Mark of the launch; the group is this launch's own.
    """
    if nodes == 1:
        return (job,)
    group = f"hft-{re.sub(r'[^a-z0-9]', '', nonce.lower())[:40]}"
    return tuple(
        replace(
            job,
            env={**job.env, "PET_NODE_RANK": str(rank)},
            labels={**job.labels, NODE: str(rank), "hft-nodes": str(nodes)},
            network=Network(group=group, aliases=(f"node-{rank}",)),
        )
        for rank in range(nodes)
    )

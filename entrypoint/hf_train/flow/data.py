"""What is mounted into the Job, looked at before the launch: is it there, and which commit is it now."""

from __future__ import annotations

from collections.abc import Mapping

from hf_train.errors import JobGone, RefusedByHub, TransientHubError
from hf_train.inputs import Inputs
from hf_train.ports import Ports, RepoFact
from hf_train.values import Volume

MAX_LOOKS = 30
"""One request each; a Job with more volumes is launched as it is asked for."""


def look_at_volumes(inputs: Inputs, ports: Ports) -> Mapping[Volume, RepoFact]:
    """One look at each repo and bucket that the inputs mount; what cannot be asked now is not known.

    A folder of the workspace is sent at its content's address and needs no look.
    """
    if ports.access is None:
        return {}
    found: dict[Volume, RepoFact] = {}
    for volume in dict.fromkeys(one for one in inputs.volumes if isinstance(one, Volume)):
        if len(found) >= MAX_LOOKS:
            break
        try:
            found[volume] = ports.access.mounted(volume.kind, volume.source, volume.revision)
        except TransientHubError:
            break  # each look may take half a minute, and this Hub does not answer
        except (RefusedByHub, JobGone):
            continue
    return found

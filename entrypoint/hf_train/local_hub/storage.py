"""The storage half of the local Hub: accounts, buckets, repos and the xet store under them.

`open_storage` is the one way in. Everything lies under `HubContext.data`, so that a restart on the same folder keeps
it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from starlette.routing import BaseRoute

from hf_train.local_hub.account_routes import AccountRoutes
from hf_train.local_hub.accounts import Accounts
from hf_train.local_hub.buckets.routes import BucketRoutes
from hf_train.local_hub.buckets.store import BucketStore
from hf_train.local_hub.hub import HubContext
from hf_train.local_hub.repos.access import RepoAccess
from hf_train.local_hub.repos.checkout import Checkouts
from hf_train.local_hub.repos.discussions import DiscussionRoutes
from hf_train.local_hub.repos.file_routes import FileRoutes
from hf_train.local_hub.repos.info import InfoRoutes
from hf_train.local_hub.repos.lfs import LfsStore
from hf_train.local_hub.repos.routes import RepoRoutes
from hf_train.local_hub.repos.store import RepoStore
from hf_train.local_hub.repos.upload_routes import UploadRoutes
from hf_train.local_hub.tokens import Signer
from hf_train.local_hub.xet.content import FileContent
from hf_train.local_hub.xet.routes import CasRoutes
from hf_train.local_hub.xet.store import XetStore


@dataclass(kw_only=True, slots=True)
class Storage:
    """The stores of one local Hub, and their routes. It is the `hub.VolumeSource` of the Job machine."""

    hub: HubContext
    accounts: Accounts
    signer: Signer
    xet: XetStore
    buckets: BucketStore
    repos: RepoStore
    lfs: LfsStore
    checkouts: Checkouts

    def routes(self) -> list[BaseRoute]:
        """All routes of the storage half."""
        access = RepoAccess(hub=self.hub, accounts=self.accounts, store=self.repos)
        return [
            *AccountRoutes(self.accounts, self.hub.endpoint).routes(),
            *BucketRoutes(self.hub, self.accounts, self.buckets, self.signer).routes(),
            *CasRoutes(self.hub, self.xet, self.signer, self.find_file).routes(),
            *RepoRoutes(access, self.buckets).routes(),
            *UploadRoutes(access, self.lfs, self.signer).routes(),
            *FileRoutes(access, self.lfs).routes(),
            *DiscussionRoutes(access).routes(),
            *InfoRoutes(access).routes(),
        ]

    def find_file(self, hash_: str) -> FileContent | None:
        """A file by its xet hash: in the xet store, or written by a Job into a bucket."""
        return self.xet.content(hash_) or self.buckets.adopt(hash_)

    def bucket_folder(self, bucket_id: str, path: str) -> Path:
        """The live folder of a bucket, or of a path in it, made when missing. See `hub.VolumeSource`."""
        bucket = self.buckets.get(bucket_id)
        if bucket is None:
            raise KeyError(bucket_id)
        return self.buckets.mount(bucket, path)

    def repo_folder(self, repo_type: str, repo_id: str, revision: str | None, path: str) -> Path:
        """A folder with the files of a repo at a revision. See `hub.VolumeSource`."""
        repo = self.repos.get(repo_type, repo_id)
        if repo is None:
            raise KeyError(f"{repo_type} {repo_id}")
        return self.checkouts.folder(repo, revision or "main", path)


def open_storage(hub: HubContext) -> Storage:
    """Open the stores under `hub.data`, made when missing."""
    data = hub.data.resolve()  # git runs in its own folder
    xet = XetStore(data / "xet")
    lfs = LfsStore(data / "lfs", xet)
    return Storage(
        hub=hub,
        accounts=Accounts(hub.settings),
        signer=Signer(data / "secret"),
        xet=xet,
        buckets=BucketStore(data / "buckets", xet),
        repos=RepoStore(data / "repos"),
        lfs=lfs,
        checkouts=Checkouts(data / "checkouts", lfs),
    )

"""Signatures of failures: what a line proves, and what to do about it. Source: reference §1.12, F1 to F22.

The order of the table is the order of trust: the more specific row stands first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

CODES = (
    "oom-gpu", "oom-host", "timeout", "gated", "auth", "no-permission", "not-found", "disk-full", "nccl",
    "child-failed", "import", "dependency-install", "no-gpu", "label-range", "dataset-format", "bad-arguments",
    "nan-loss", "network", "mount", "shm", "killed", "upload-failed", "unknown",
)  # fmt: skip
"""Every cause that the reader can name."""


@dataclass(frozen=True)
class Signature:
    """One row.

    Attributes:
        code: The cause.
        pattern: Searched in a cleaned line.
        fatal: The line alone ends a process; without it the row counts only in an exception's text.
        launcher: The line comes from a launcher, which only reports what its child did.
    """

    code: str
    pattern: re.Pattern[str]
    fatal: bool = False
    launcher: bool = False


def _row(code: str, pattern: str, *, fatal: bool = False, launcher: bool = False) -> Signature:
    return Signature(code, re.compile(pattern), fatal, launcher)


SIGNATURES = (
    _row("gated", r"GatedRepoError|trying to access a gated repo|Cannot access gated repo|gated dataset on the Hub"),
    _row(
        "oom-gpu",
        r"OutOfMemoryError: (?:CUDA|HIP|XPU)? ?out of memory|(?:CUDA|HIP|XPU|MPS backend) out of memory"
        r"|CUDA error: out of memory|CUBLAS_STATUS_ALLOC_FAILED|CUDA_ERROR_OUT_OF_MEMORY"
        r"|RESOURCE_EXHAUSTED: Out of memory|ResourceExhaustedError|OOM when allocating tensor"
        r"|torch\.(?:cuda\.)?OutOfMemoryError|No available memory for the cache blocks|CUDNN_STATUS_ALLOC_FAILED",
    ),
    _row("shm", r"unable to (?:open|mmap|allocate) shared memory(?: object)? <"),
    _row(
        "disk-full",
        r"No space left on device|\[Errno 28\]|os error 28\b|kind: StorageFull|Disk quota exceeded"
        r"|There is not enough space on the disk|PytorchStreamWriter failed writing file",
    ),
    _row(
        "label-range",
        r"Assertion `[^`]*(?:t|cur_target|target\w*|srcIndex|label\w*) ?(?:>=|<)[^`]*` failed",
        fatal=True,
    ),
    _row(
        "label-range",
        r"device-side assert triggered|IndexError: Target -?\d+ is out of bounds"
        r"|index out of range in self|Received a label value of -?\d+ which is outside the valid range",
    ),
    _row("shm", r"Unexpected bus error|insufficient shared memory \(shm\)", fatal=True),
    _row(
        "shm", r"DataLoader worker \(pid\(?s?\)? [^)]*\) (?:is killed by signal: (?:Bus|Aborted)|exited unexpectedly)"
    ),
    _row("oom-host", r"DataLoader worker \(pid [^)]*\) is killed by signal: Killed"),
    _row("oom-host", r"\[WinError 1455\]|DefaultCPUAllocator: (?:can't allocate|not enough) memory", fatal=True),
    _row("oom-host", r"MemoryError\b|Cannot allocate memory|\[Errno 12\]|OOMKilled|Out of memory: Killed process"),
    _row("bad-arguments", r"private=True is not supported for static Trackio Spaces"),
    _row(
        "no-gpu",
        r"Found no NVIDIA driver|No CUDA GPUs are available|Torch not compiled with CUDA enabled"
        r"|[Yy]our setup doesn't support bf16/gpu|cannot find any torch accelerator"
        r"|Cannot access accelerator device when none is available|no kernel image is available"
        r"|Attempting to deserialize object on a CUDA device|CUDA driver version is insufficient"
        r"|bf16 requires CUDA|needs? a (?:CUDA )?GPU|no NVIDIA GPU"
        r"|FlashAttention only supports|No supported gpu backend found"
        r"|CUDA initialization: (?:CUDA unknown|Unexpected) error"
        r"|device is required to be a CUDA device|libcuda\.so\.1: cannot open shared object",
    ),
    _row("no-gpu", r"CUDA is not available[.…!]? ?(?:This|Please|A GPU|Use|Run|$)", fatal=True),
    _row("dependency-install", r"Could not find nvcc and default cuda_home|CUDA_HOME environment variable is not set"),
    _row(
        "dependency-install",
        r"\u00d7 No solution found when resolving|\u00d7 Failed to (?:build|download|resolve)"
        r"|error: Failed to (?:fetch|prepare)"
        r"|ERROR: (?:Could not find a version that satisfies|No matching distribution|Failed building wheel"
        r"|ResolutionImpossible|Cannot install|Failed to build)|metadata-generation-failed"
        r"|subprocess-exited-with-error",
        fatal=True,
    ),
    _row(
        "import",
        r"ModuleNotFoundError\b|ImportError\b|No module named '?[\w.]+|undefined symbol: |cannot import name "
        r"|GLIBC(?:XX)?_[\d.]+' not found|cannot open shared object file|No package metadata was found for"
        r"|numpy\.dtype size changed|compiled using NumPy 1\.x cannot be run",
    ),
    _row(
        "no-permission",
        r"403 (?:Client Error: )?Forbidden.{0,300}?(?:/api/(?:repos/create|\w+/[^ ]*/(?:commit"
        r"|preupload))|rights to create"
        r"|namespace|create_pr)|don't have the rights to create|You don't have the rights|pass .create_pr=1"
        r"|not authorized to (?:push|write|create)|Forbidden: you must use a write token|insufficient permissions",
    ),
    # Without a token the Hub answers 401 and "Invalid username or password" for a repo that does not exist.
    _row("not-found", r"RepositoryNotFoundError"),
    _row(
        "auth",
        r"401 (?:Client Error: )?Unauthorized|Client error '401|Invalid (?:user token|username or password|credentials)"
        r"|LocalTokenNotFoundError|Token is required|User access token .{0,40}expired|api_key not configured"
        r"|No API key configured|wandb.{0,40}(?:401|UsageError)",
    ),
    _row(
        "not-found",
        r"RepositoryNotFoundError|RevisionNotFoundError|EntryNotFoundError|DatasetNotFoundError"
        r"|is not a local folder and is not a valid model identifier|huggingface\.co/None/"
        r"|Couldn't (?:find|reach) .{0,200} on the Hub|doesn't exist on the Hub|404 (?:Client Error: )?Not Found"
        r"|Client error '404|does not appear to have a file named|Can't load (?:the )?(?:tokenizer"
        r"|model|config\w*) for",
    ),
    _row("no-permission", r"403 (?:Client Error: )?Forbidden|Client error '403"),
    _row(
        "dataset-format",
        r"KeyError: ['\"](?:text|messages|prompt|label|labels|chosen|rejected|completion|input_ids"
        r"|image|content|role)['\"]"
        r"|chat template functions because tokenizer\.chat_template is not set|have been ignored: .{0,200}empty"
        r"|roles must alternate|\bTemplateError\b|Unable to create tensor, you should probably activate"
        r"|CastError|DatasetGenerationError|DataFilesNotFoundError|Column name .{0,80} not in the dataset"
        r"|Column .{0,80}(?:doesn't exist|not in the dataset)|No columns in the dataset match"
        r"|Unknown split ['\"]|Compute_metrics .{0,40}labels|train_dataset.{0,60}(?:is empty"
        r"|does not implement __len__)",
    ),
    _row(
        "bad-arguments",
        r"error: unrecognized arguments:|unrecognized arguments: |not used by the HfArgumentParser"
        r"|error: the following arguments are required|error: argument |\d+ validation errors? for "
        r"|Output directory .{0,300} already exists and is not empty|No such option:|Missing option|invalid choice: "
        r"|load_best_model_at_end requires|Could not override '"
        r"|Key '\w+' is not in struct|got an unexpected keyword argument|one of the arguments .{0,120} is required",
        fatal=True,
    ),
    _row("nan-loss", r"(?i)\bloss (?:is (?:nan|inf)\S{0,3} stopping training|became infinite or nan)", fatal=True),
    _row(
        "nan-loss",
        r"(?i)\bloss(?: returned in `?training_step`?)? is (?:nan|inf)\b|invalid loss, terminating training"
        r"|loss is nan, stopping|probability tensor contains either `?inf`?, `?nan`?|Function '\w+' returned nan values"
        r"|input contains nan|nan or inf (?:found|detected)|unexpected result nan|found nan in"
        r"|non-finite (?:loss|gradient)|minimum loss scale reached",
    ),
    _row(
        "mount",
        r"Read-only file system|\[Errno (?:5|30)\]|Transport endpoint is not connected|Stale file handle"
        r"|PermissionError: \[Errno 13\] Permission denied: '/(?:data|code|ckpt|mnt|outputs?|workspace)\b",
    ),
    _row("not-found", r"\bFileNotFoundError\b"),
    _row(
        "not-found",
        r"can't open file '[^'\n]{1,300}': \[Errno 2\]|^\S+: line \d+: .{1,200}: command not found$",
        fatal=True,
    ),
    _row("timeout", r"\bJob timeout\b|DUE TO TIME LIMIT|reached the maximum (?:run ?time|duration)", fatal=True),
    _row(
        "network",
        r"429 (?:Client Error: )?Too Many Requests|Client error '429|\brate limit|ConnectionError"
        r"|ConnectTimeout|ReadTimeout"
        r"|Connection(?:ResetError| reset by peer| refused)|(?:500|502|503|504) Server Error|Server error '5\d\d"
        r"|Temporary failure in name resolution|Name or service not known|RemoteDisconnected"
        r"|IncompleteRead|MaxRetryError"
        r"|SSLError|RemoteProtocolError|LocalEntryNotFoundError|Consistency check failed|RequestError\(Reqwest",
    ),
    _row(
        "nccl",
        r"Watchdog caught collective operation timeout|ncclTimeout|NCCL error|DistBackendError|NCCL WARN .{0,80}fail"
        r"|ncclUnhandledCudaError|ncclSystemError|ncclRemoteError|ncclInternalError|ncclInvalidUsage"
        r"|Connection closed by peer \[|DistNetworkError|DistStoreError|NCCL communicator was aborted"
        r"|Timed out waiting \d+ms for (?:recv|send) operation|watchdog thread terminated with exception",
        fatal=True,
    ),
    _row(
        "oom-host",
        r"died with <Signals\.SIGKILL: 9>|exit ?code\s*: ?-9\b|return code = -9\b"
        r"|exited with code 137|exit code:? 137\b"
        r"|returned non-zero exit status (?:137|-9)\b|^Killed\s*$|: line \d+:\s+\d+ Killed\b"
        r"|Signal 9 \(SIGKILL\) received"
        r"|terminated by signal SIGKILL",
        fatal=True,
        launcher=True,
    ),
    _row(
        "killed",
        r"got signal: (?:15|2)\b|died with <Signals\.|exit ?code\s*: ?-(?:6|11|7|4)\b|return code = -\d+\b"
        r"|(?:^|: line \d{1,6}:\s{1,8}\d{1,9} )(?:Segmentation fault|Aborted|Bus error|Terminated)\b"
        r"|Segmentation fault \(core dumped\)"
        r"|Fatal Python error: (?:Segmentation fault|Bus error|Aborted)|KeyboardInterrupt\s*$",
        fatal=True,
        launcher=True,
    ),
    _row(
        "child-failed",
        r"ChildFailedError|CalledProcessError|returned non-zero exit status|ProcessExitedException"
        r"|ProcessRaisedException"
        r"|exits with return code = \d|ExecuteUserScriptError|failed \(exitcode: [1-9]\d*\)",
        fatal=True,
        launcher=True,
    ),
)

HINTS: dict[str, str] = {
    "oom-gpu": "The GPU's memory was full: smaller per-device batch with gradient accumulation, "
    "gradient checkpointing, "
    "LoRA or 4-bit, a shorter max length, or a bigger flavor. In the evaluation: a smaller eval batch.",
    "oom-host": "The process was killed, most likely because the host's memory was full: a flavor with more RAM, "
    "streaming or low_cpu_mem_usage, fewer data loader workers.",
    "timeout": "The Job reached its time limit: raise `timeout` above the time the whole training needs, "
    "or train fewer steps.",
    "gated": "The base model or dataset is gated. 401: give the Job a token (HF_TOKEN). 403: ask for access on the "
    "repo's page with the account that owns the token.",
    "auth": "The Hub refused the token: check the secret HF_TOKEN (expired, revoked, or under another name).",
    "no-permission": "The token may not write there: it needs write and create rights in that namespace, "
    "or another model repo must be named.",
    "not-found": "A repo or file was not found: check the spelling, and whether the token can see it. "
    "`None` in the address means that an argument was empty.",
    "disk-full": "The disk was full: lower save_total_limit, stream the dataset, write checkpoints to a bucket, "
    "or take a flavor with more disk.",
    "nccl": "A rank stalled or died and the others waited: look for the first error that is not NCCL's, for uneven "
    "data or evaluation between ranks, or memory; raise ddp_timeout for slow steps.",
    "child-failed": "A launcher reports that its child failed; the child's own error is not in the log. "
    "Run with PYTHONUNBUFFERED=1 and look above the launcher's traceback.",
    "import": "A package is missing or built for another version: add it to the script's header or to the image. "
    "`undefined symbol` means a wheel built for another torch: pin it or use the library's image.",
    "dependency-install": "The environment could not be made: pin versions that fit together. What needs nvcc "
    "(flash-attn, deepspeed) needs an image with the CUDA toolkit or a ready wheel.",
    "no-gpu": "The training found no usable GPU: choose a GPU flavor, and a torch build that fits its driver.",
    "label-range": "A label or token id is outside of the model's range: num_labels, vocabulary and labels must agree.",
    "dataset-format": "The dataset has not the columns or the chat template that the trainer needs: rename or map the "
    "columns, or set the template.",
    "bad-arguments": "The script refused its arguments: the line names which one.",
    "nan-loss": "The training diverged (NaN or infinite loss); a finite train_loss beside it is an average over "
    "filtered values and not to be trusted. Lower the learning rate, warm up, bf16 instead of fp16, check the data.",
    "network": "The Hub or the network did not answer: run again.",
    "mount": "A mounted directory refused the write: mounts of code are read-only, write to the output volume.",
    "shm": "Shared memory was full: set the data loader's num_workers to 0, 1 or 2.",
    "killed": "The process was killed by a signal.",
    "upload-failed": "The training finished, but the upload to the Hub failed: run again, or publish from the volume.",
    "unknown": "The log does not name a known cause.",
}
"""One hint per code, for people."""

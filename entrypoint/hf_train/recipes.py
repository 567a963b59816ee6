"""Recipes: the training scripts that five libraries ship, one row each. Pure.

Every row was read at the commit or in the release that it names: where the script lies, what its flags are called, how
it is started on several GPUs. A library whose scripts are in its package (TRL) is pinned by its release; one whose
scripts are only in its repository by the commit of a release, with the packages of that time; Axolotl by its image,
whose environment is more than pip can make. `docs/recipes.md` says the same for people.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import Literal

RAW = "https://raw.githubusercontent.com"
"""Where scripts are fetched from; one of the hosts that `script` takes too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """One way to train.

    Attributes:
        name: What `recipe` takes: `LIBRARY/FORM`, or `LIBRARY` where there is one form.
        what: What it trains, in a few words.
        repository: The library's GitHub repository.
        commit: The commit that `script` is fetched at, 40 hex digits; empty when nothing is fetched.
        script: Path in the repository; empty when the program is in a package or in the image.
        program: Words that start the program when there is no `script`.
        packages: What `uv` installs, unless an image is given.
        image: The known image that it runs in (`images/pins.toml`); empty for uv's own.
        launcher: What starts one process per GPU; `own` when the program does that itself.
        config: How `config` is handed over: an option, `first` for the first argument, or empty when it takes none.
        needs_config: Whether there is nothing to run without one.
        repo: Option for the repo that it publishes to.
        push: Words that make it publish.
        output: Option for the folder of results.
        resume: Option that continues from a checkpoint; empty when it has none.
        anew: Words that make it take an output folder in which files lie already; what it goes on from is then said by
            `resume` alone.
    """

    name: str
    what: str
    repository: str
    commit: str = ""
    script: str = ""
    program: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    image: str = ""
    launcher: Literal["accelerate", "torchrun", "own"] = "accelerate"
    config: str = ""
    needs_config: bool = False
    repo: str = "--hub_model_id"
    push: tuple[str, ...] = ("--push_to_hub",)
    output: str = "--output_dir"
    resume: str = "--resume_from_checkpoint"
    anew: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        """Address of the script, pinned to its commit; empty when nothing is fetched."""
        return f"{RAW}/{self.repository}/{self.commit}/{self.script}" if self.script else ""

    @property
    def source(self) -> str:
        """Where the program comes from, for people."""
        return self.url or self.packages[0] if not self.image else f"image {self.image}"

    def launch(self, gpus: int) -> tuple[str, ...]:
        """The words before script or program, for so many GPUs."""
        if self.launcher == "own":
            return ()
        if gpus < 2:
            return ("python",)
        if self.launcher == "torchrun":
            return ("torchrun", "--nproc_per_node", str(gpus))
        return ("accelerate", "launch", "--num_processes", str(gpus))


# As examples/requirements-training.txt, which the tests train with.
_TRL = Recipe(
    name="trl",
    what="",
    repository="huggingface/trl",
    packages=(
        "trl==1.16.0",
        "transformers==5.24.0",
        "accelerate==1.15.0",
        "datasets==5.2.0",
        "peft==0.21.2",
        "trackio==0.43.0",
        "kernels==0.17.2",
        "torch==2.13.0",
    ),
    config="--config",
)
# The commit of the library's release 4.48.0: its scripts refuse an older library, and newer ones are another script's.
_TRANSFORMERS = Recipe(
    name="transformers",
    what="",
    repository="huggingface/transformers",
    commit="e39c9f7a78fa2960a7045e8fc5a2d96b5d7eebf1",
    packages=(
        "transformers==4.48.0",
        "accelerate==1.2.1",
        "datasets==3.2.0",
        "evaluate==0.4.3",
        "scikit-learn==1.6.1",
        "sentencepiece==0.2.0",
        "protobuf==5.29.3",
        "numpy==2.2.6",
        "torch==2.8.0",
    ),
    # Without it the scripts look for a checkpoint by themselves, or refuse a folder that is not empty.
    anew=("--overwrite_output_dir",),
)
# The tag v0.40.0. Headers of its scripts, where they have one, install the library's main branch; so they are not read.
_DIFFUSERS = Recipe(
    name="diffusers",
    what="",
    repository="huggingface/diffusers",
    commit="d035dcd7cc7c88e0a154609b62887d50bba9fdc2",
    packages=(
        "diffusers==0.40.0",
        "transformers==5.24.0",
        "accelerate==1.15.0",
        "datasets==5.2.0",
        "peft==0.21.2",
        "bitsandbytes==0.50.2",
        "prodigyopt==1.1.2",
        "sentencepiece==0.2.3",
        "protobuf==7.36.2",
        "ftfy==6.3.1",
        "tensorboard==2.21.0",
        "Jinja2==3.1.6",
        "torch==2.13.0",
        "torchvision==0.28.0",
    ),
)
_CLASSIFY = "examples/pytorch/text-classification"

RECIPES: tuple[Recipe, ...] = (
    replace(
        _TRANSFORMERS,
        name="transformers/glue",
        what="text classification: a GLUE task, or CSV and JSON files",
        script=f"{_CLASSIFY}/run_glue.py",
    ),
    replace(
        _TRANSFORMERS,
        name="transformers/classification",
        what="text classification: any data set, regression and several labels too",
        script=f"{_CLASSIFY}/run_classification.py",
    ),
    replace(
        _TRANSFORMERS,
        name="transformers/clm",
        what="language modelling, left to right",
        script="examples/pytorch/language-modeling/run_clm.py",
    ),
    replace(
        _TRANSFORMERS,
        name="transformers/summarization",
        what="summarization, sequence to sequence",
        script="examples/pytorch/summarization/run_summarization.py",
        packages=(*_TRANSFORMERS.packages, "nltk==3.9.1", "rouge-score==0.1.2"),
    ),
    replace(
        _TRANSFORMERS,
        name="transformers/image-classification",
        what="image classification",
        script="examples/pytorch/image-classification/run_image_classification.py",
        packages=(*_TRANSFORMERS.packages, "torchvision==0.23.0"),
    ),
    *(
        replace(_TRL, name=f"trl/{form}", what=what, program=("-m", f"trl.scripts.{form}"))
        for form, what in (
            ("sft", "supervised fine-tuning"),
            ("dpo", "preferences, direct (DPO)"),
            ("grpo", "reinforcement with reward functions (GRPO)"),
            ("kto", "preferences, unpaired (KTO)"),
            ("reward", "a reward model"),
            ("rloo", "reinforcement, leave one out (RLOO)"),
        )
    ),
    Recipe(
        name="unsloth",
        what="LoRA fine-tuning of a chat model on instructions",
        repository="unslothai/unsloth",
        commit="015bdef0d94a241bcd94eec7a405b1700632180d",
        script="unsloth-cli.py",
        packages=("unsloth==2026.8.19", "tensorboard==2.21.0"),
        launcher="torchrun",  # what its loader names (unsloth 2026.8.19 `models/loader.py`)
        repo="--hub_path",
        push=("--save_model", "--push_model"),
        resume="",
    ),
    Recipe(
        name="axolotl",
        what="fine-tuning by one YAML file",
        repository="axolotl-ai-cloud/axolotl",
        program=("axolotl", "train"),
        image="axolotl",
        launcher="own",
        config="first",
        needs_config=True,
        repo="--hub-model-id",
        push=(),
        output="--output-dir",
        resume="--resume-from-checkpoint",
    ),
    *(
        replace(_DIFFUSERS, name=f"diffusers/{form}", what=what, script=f"examples/{folder}/{script}.py")
        for form, what, folder, script in (
            ("lora", "LoRA of Stable Diffusion on captioned images", "text_to_image", "train_text_to_image_lora"),
            ("text-to-image", "Stable Diffusion on captioned images", "text_to_image", "train_text_to_image"),
            ("dreambooth-lora", "DreamBooth LoRA of Stable Diffusion", "dreambooth", "train_dreambooth_lora"),
            ("dreambooth-lora-sdxl", "DreamBooth LoRA of SDXL", "dreambooth", "train_dreambooth_lora_sdxl"),
            ("dreambooth-lora-flux", "DreamBooth LoRA of FLUX.1", "dreambooth", "train_dreambooth_lora_flux"),
            (
                "dreambooth-lora-flux2-klein",
                "DreamBooth LoRA of FLUX.2 klein",
                "dreambooth",
                "train_dreambooth_lora_flux2_klein",
            ),
        )
    ),
)
BY_NAME = {one.name: one for one in RECIPES}
LIBRARIES = {one.name.partition("/")[0]: one for one in reversed(RECIPES)}
"""The first form of each library, which its bare name stands for."""


def recipe_of(text: str) -> Recipe:
    """The recipe of a name; a library's bare name is its first form.

    Raises:
        ValueError: There is none; the text has the nearest one and the whole list.
    """
    found = BY_NAME.get(text) or LIBRARIES.get(text)
    if found is None:
        close = difflib.get_close_matches(text, [*BY_NAME, *LIBRARIES], n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        message = f"{text!r} is no recipe{hint} (there are {', '.join(BY_NAME)})"
        raise ValueError(message)
    return found

# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "torch==2.13.0",
#     "diffusers==0.42.1",
#     "transformers==5.24.0",
#     "peft==0.21.2",
#     "accelerate==1.15.0",
#     "datasets==5.2.0",
#     "huggingface_hub==2.4.0",
#     "pillow==13.0.0",
#     "tensorboardX==2.6.5",
# ]
# ///
"""Fine-tune a Stable Diffusion pipeline on captioned images with LoRA, with Diffusers, PEFT and accelerate.

It works as Diffusers' own text-to-image LoRA script does, and prints and pushes what that prints and pushes: a bar
"Steps" with `step_loss` and `lr` behind it, `train_loss` of every step to the trackers, and one commit "End of
training" with the LoRA weights, a model card and the trackers' files (`logs/`).

Run it with: python make_tiny.py && python train_lora.py --pretrained_model_name_or_path tiny-diffusion
"""

from __future__ import annotations

import argparse
import logging
import math
from collections.abc import Iterator
from pathlib import Path

import diffusers
import numpy as np
import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from accelerate.utils import ProjectConfiguration, set_seed
from datasets import Dataset, load_dataset
from diffusers import DDPMScheduler, StableDiffusionPipeline
from diffusers.optimization import get_scheduler
from diffusers.training_utils import cast_training_params
from diffusers.utils import convert_state_dict_to_diffusers
from diffusers.utils.hub_utils import load_or_create_model_card, populate_model_card
from huggingface_hub import HfApi
from peft import LoraConfig
from peft.utils import get_peft_model_state_dict
from PIL import Image
from torch.nn import functional
from torch.utils.data import DataLoader
from tqdm.auto import tqdm

HERE = Path(__file__).resolve().parent
ATTENTION = ["to_k", "to_q", "to_v", "to_out.0"]
logger = get_logger(__name__)


def arguments() -> argparse.Namespace:
    """What the command line says, under the names of Diffusers' scripts."""
    parser = argparse.ArgumentParser(description="LoRA on the UNet of Stable Diffusion.")
    parser.add_argument("--pretrained_model_name_or_path", required=True, help="pipeline of the Hub, or a folder")
    parser.add_argument("--dataset_name", help="data set of the Hub with the columns image and text")
    parser.add_argument("--train_data_dir", default=str(HERE / "data"), help="image folder with metadata.jsonl")
    parser.add_argument("--resolution", type=int, default=32)
    parser.add_argument("--rank", type=int, default=4)
    parser.add_argument("--train_batch_size", type=int, default=3)
    parser.add_argument("--gradient_accumulation_steps", type=int, default=1)
    parser.add_argument("--max_train_steps", type=int, default=30)
    parser.add_argument("--learning_rate", type=float, default=1e-3)
    parser.add_argument("--lr_scheduler", default="constant")
    parser.add_argument("--lr_warmup_steps", type=int, default=0)
    parser.add_argument("--max_grad_norm", type=float, default=1.0)
    parser.add_argument("--mixed_precision", choices=("no", "fp16", "bf16"), default="no")
    parser.add_argument("--dataloader_num_workers", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output_dir", type=Path, default=Path("shapes-lora"))
    parser.add_argument("--report_to", default="tensorboard", help="a tracker that accelerate knows")
    parser.add_argument("--push_to_hub", action="store_true")
    parser.add_argument("--hub_model_id", help="owner/name of the model repository")
    return parser.parse_args()


def load_data(options: argparse.Namespace, pipeline: StableDiffusionPipeline) -> Dataset:
    """Images as tensors between -1 and 1, captions as tokens; each row is made when it is asked for."""
    if options.dataset_name:
        rows = load_dataset(options.dataset_name, split="train")
    else:
        rows = load_dataset("imagefolder", data_dir=options.train_data_dir, split="train")
    size = (options.resolution, options.resolution)

    def encode(batch: dict[str, list[object]]) -> dict[str, list[torch.Tensor]]:
        images = [image.convert("RGB").resize(size, Image.Resampling.BILINEAR) for image in batch["image"]]
        pixels = [torch.from_numpy(np.asarray(image).copy()).permute(2, 0, 1) / 127.5 - 1 for image in images]
        captions = pipeline.tokenizer(batch["text"], padding="max_length", truncation=True, return_tensors="pt")
        return {"pixel_values": pixels, "input_ids": list(captions.input_ids)}

    return rows.with_transform(encode)


def noise_loss(
    pipeline: StableDiffusionPipeline, unet: torch.nn.Module, schedule: DDPMScheduler, batch: dict[str, torch.Tensor]
) -> torch.Tensor:
    """How far the UNet's guess is from the noise that was put on the images' latents."""
    latents = pipeline.vae.encode(batch["pixel_values"].to(pipeline.vae.dtype)).latent_dist.sample()
    latents = latents * pipeline.vae.config.scaling_factor
    noise = torch.randn_like(latents)
    steps = torch.randint(schedule.config.num_train_timesteps, (len(latents),), device=latents.device)
    text = pipeline.text_encoder(batch["input_ids"])[0]
    guess = unet(schedule.add_noise(latents, noise, steps), steps, text).sample
    target = (
        schedule.get_velocity(latents, noise, steps) if schedule.config.prediction_type == "v_prediction" else noise
    )
    return functional.mse_loss(guess.float(), target.float())


def endless(loader: DataLoader) -> Iterator[dict[str, torch.Tensor]]:
    """Epoch after epoch."""
    while True:
        yield from loader


def announce(options: argparse.Namespace, accelerator: Accelerator, examples: int, batches: int) -> None:
    """The block that Diffusers' scripts print before they train."""
    total = options.train_batch_size * accelerator.num_processes * options.gradient_accumulation_steps
    updates = math.ceil(batches / options.gradient_accumulation_steps)
    logger.info("***** Running training *****")
    facts = {
        "Num examples": examples,
        "Num Epochs": math.ceil(options.max_train_steps / updates),
        "Instantaneous batch size per device": options.train_batch_size,
        "Total train batch size (w. parallel, distributed & accumulation)": total,
        "Gradient Accumulation steps": options.gradient_accumulation_steps,
        "Total optimization steps": options.max_train_steps,
    }
    for name, value in facts.items():
        logger.info("  %s = %s", name, value)


def train(options: argparse.Namespace, accelerator: Accelerator, pipeline: StableDiffusionPipeline) -> torch.nn.Module:
    """Train the LoRA layers; returns the UNet that holds them."""
    unet = pipeline.unet
    unet.add_adapter(LoraConfig(r=options.rank, lora_alpha=options.rank, target_modules=ATTENTION))
    if accelerator.mixed_precision == "fp16":
        cast_training_params(unet, dtype=torch.float32)
    layers = [weight for weight in unet.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(layers, lr=options.learning_rate)
    rows = load_data(options, pipeline)
    loader = DataLoader(
        rows, shuffle=True, batch_size=options.train_batch_size, num_workers=options.dataloader_num_workers
    )
    scheduler = get_scheduler(
        options.lr_scheduler,
        optimizer,
        num_warmup_steps=options.lr_warmup_steps * accelerator.num_processes,
        num_training_steps=options.max_train_steps * accelerator.num_processes,
    )
    unet, optimizer, loader, scheduler = accelerator.prepare(unet, optimizer, loader, scheduler)
    schedule = DDPMScheduler.from_config(pipeline.scheduler.config)
    announce(options, accelerator, len(rows), len(loader))

    unet.train()
    bar = tqdm(range(options.max_train_steps), desc="Steps", disable=not accelerator.is_local_main_process)
    step, train_loss = 0, 0.0
    for batch in endless(loader):
        with accelerator.accumulate(unet):
            loss = noise_loss(pipeline, unet, schedule, batch)
            mean = accelerator.gather(loss.detach().repeat(options.train_batch_size)).mean()
            train_loss += mean.item() / options.gradient_accumulation_steps
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(layers, options.max_grad_norm)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        if accelerator.sync_gradients:
            bar.update(1)
            step += 1
            accelerator.log({"train_loss": train_loss}, step=step)
            train_loss = 0.0
        bar.set_postfix(step_loss=loss.detach().item(), lr=scheduler.get_last_lr()[0])
        if step >= options.max_train_steps:
            break
    return accelerator.unwrap_model(unet)


def save(options: argparse.Namespace, unet: torch.nn.Module) -> None:
    """The LoRA layers in Diffusers' form."""
    weights = convert_state_dict_to_diffusers(get_peft_model_state_dict(unet.to(torch.float32)))
    StableDiffusionPipeline.save_lora_weights(options.output_dir, unet_lora_layers=weights)


def push(options: argparse.Namespace) -> None:
    """A model card, and the whole folder in one commit."""
    api = HfApi()
    repo = api.create_repo(options.hub_model_id, exist_ok=True)
    card = load_or_create_model_card(
        repo_id_or_path=repo.repo_id,
        from_training=True,
        base_model=options.pretrained_model_name_or_path,
        model_description=f"LoRA weights for {options.pretrained_model_name_or_path}, on pictures of shapes.",
        inference=True,
    )
    populate_model_card(card, tags=["stable-diffusion", "text-to-image", "diffusers", "diffusers-training", "lora"])
    card.save(options.output_dir / "README.md")
    api.upload_folder(repo_id=repo.repo_id, folder_path=options.output_dir, commit_message="End of training")


def main() -> None:
    """Load, train, save, and push when asked to."""
    options = arguments()
    accelerator = Accelerator(
        gradient_accumulation_steps=options.gradient_accumulation_steps,
        mixed_precision=options.mixed_precision,
        log_with=options.report_to,
        project_config=ProjectConfiguration(project_dir=options.output_dir, logging_dir=options.output_dir / "logs"),
    )
    logging.basicConfig(
        format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", datefmt="%m/%d/%Y %H:%M:%S", level=logging.INFO
    )
    diffusers.utils.logging.set_verbosity_info()
    set_seed(options.seed)
    dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(accelerator.mixed_precision, torch.float32)
    pipeline = StableDiffusionPipeline.from_pretrained(options.pretrained_model_name_or_path, dtype=dtype)
    for part in (pipeline.unet, pipeline.vae, pipeline.text_encoder):
        part.requires_grad_(False).to(accelerator.device)
    accelerator.init_trackers(
        "text2image-fine-tune", config={name: str(value) for name, value in vars(options).items()}
    )

    unet = train(options, accelerator, pipeline)
    accelerator.end_training()
    if accelerator.is_main_process:
        save(options, unet)
        if options.push_to_hub:
            push(options)


if __name__ == "__main__":
    main()

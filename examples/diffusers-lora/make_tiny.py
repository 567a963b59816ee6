"""Make a Stable Diffusion pipeline with tiny random weights: a stand-in for a real one, on the spot and in seconds.

It has the parts of the real one (CLIP text encoder, VAE, UNet, scheduler), each a few layers deep, so that what trains
the one trains the other. A real fine-tune names a pipeline of the Hub instead
(`--pretrained_model_name_or_path stable-diffusion-v1-5/stable-diffusion-v1-5`).

Run it with: python make_tiny.py --out tiny-diffusion
"""

from __future__ import annotations

import argparse
from pathlib import Path

from diffusers import AutoencoderKL, DDPMScheduler, StableDiffusionPipeline, UNet2DConditionModel
from tokenizers import pre_tokenizers
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer, set_seed

WIDTH = 32
TOKENS = 16


def make_tokenizer() -> CLIPTokenizer:
    """CLIP's tokenizer with its alphabet alone: every letter is a token."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = ["<|startoftext|>", "<|endoftext|>", *alphabet, *(f"{letter}</w>" for letter in alphabet)]
    vocabulary = {word: index for index, word in enumerate(words)}
    return CLIPTokenizer(vocab=vocabulary, merges=[], model_max_length=TOKENS)


def make_pipeline() -> StableDiffusionPipeline:
    """The pipeline: images of 32 by 32 pixels, latents of 16 by 16."""
    tokenizer = make_tokenizer()
    text = CLIPTextConfig(
        vocab_size=len(tokenizer),
        hidden_size=WIDTH,
        intermediate_size=2 * WIDTH,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=TOKENS,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    vae = AutoencoderKL(
        block_out_channels=(WIDTH, WIDTH),
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        latent_channels=4,
        norm_num_groups=8,
        sample_size=32,
    )
    unet = UNet2DConditionModel(
        block_out_channels=(WIDTH, 2 * WIDTH),
        layers_per_block=1,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=WIDTH,
        attention_head_dim=4,
        norm_num_groups=8,
        sample_size=16,
    )
    return StableDiffusionPipeline(
        vae=vae,
        text_encoder=CLIPTextModel(text),
        tokenizer=tokenizer,
        unet=unet,
        scheduler=DDPMScheduler(beta_schedule="scaled_linear", clip_sample=False, steps_offset=1),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )


def main() -> None:
    """Write the pipeline to a folder."""
    parser = argparse.ArgumentParser(description="Make a tiny Stable Diffusion pipeline.")
    parser.add_argument("--out", type=Path, default=Path("tiny-diffusion"))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    set_seed(options.seed)
    pipeline = make_pipeline()
    pipeline.save_pretrained(options.out)
    print(f"made {options.out}: {pipeline.unet.num_parameters():,} parameters in the UNet", flush=True)


if __name__ == "__main__":
    main()

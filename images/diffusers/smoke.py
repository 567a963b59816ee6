"""What must work in this image: a tiny UNet takes a step of the denoising objective, and LoRA can be added to it."""

from __future__ import annotations

import diffusers
import torch
from diffusers import DDPMScheduler, UNet2DModel
from peft import LoraConfig

model = UNet2DModel(
    sample_size=8, in_channels=1, out_channels=1, layers_per_block=1, block_out_channels=(8, 8), norm_num_groups=4,
    down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    attention_head_dim=4,
)  # fmt: skip
model.add_adapter(LoraConfig(r=2, target_modules=["to_q", "to_v"]))
noise, times = torch.randn(2, 1, 8, 8), torch.tensor([1, 5])
noisy = DDPMScheduler().add_noise(torch.zeros(2, 1, 8, 8), noise, times)
loss = torch.nn.functional.mse_loss(model(noisy, times).sample, noise)
loss.backward()
assert any(weight.grad is not None for name, weight in model.named_parameters() if "lora" in name)
print(f"diffusers {diffusers.__version__}: one step, loss {loss.item():.3f}")

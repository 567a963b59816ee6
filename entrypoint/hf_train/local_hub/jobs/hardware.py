"""Flavors and prices, as `GET /api/jobs/hardware` lists them.

Source: hub-docs `jobs-configuration.md` and `jobs-pricing.md` (August 2026); keys by huggingface_hub 2.4.0
`_jobs_api.py` (`JobHardwareInfo`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Hardware:
    """One flavor.

    Attributes:
        name: Its name.
        cpus: vCPUs.
        ram_gb: Memory, GB.
        gpu: GPU model, empty for none.
        gpus: Number of GPUs.
        vram_gb: Memory of all its GPUs, GB.
        disk_gb: Ephemeral storage, GB.
        usd_per_hour: Price, US dollars per hour.
    """

    name: str
    cpus: int
    ram_gb: int
    gpu: str
    gpus: int
    vram_gb: int
    disk_gb: int
    usd_per_hour: float

    def as_json(self) -> dict[str, Any]:
        """The row of the list."""
        micro = round(self.usd_per_hour * 1_000_000 / 60)
        accelerator = {
            "type": "gpu",
            "model": self.gpu,
            "quantity": str(self.gpus),
            "vram": f"{self.vram_gb} GB",
            "manufacturer": "Nvidia",
        }
        pretty = f"Nvidia {self.gpu} - {self.name}" if self.gpu else self.name.replace("-", " ").title()
        return {
            "name": self.name,
            "prettyName": pretty,
            "cpu": f"{self.cpus} vCPU",
            "ram": f"{self.ram_gb} GB",
            "ephemeralStorage": f"{self.disk_gb} GB",
            "accelerator": accelerator if self.gpu else None,
            "unitCostMicroUSD": micro,
            "unitCostUSD": micro / 1_000_000,
            "unitLabel": "minute",
        }


_ROWS = (
    ("cpu-basic", 2, 16, "", 0, 0, 50, 0.01),
    ("cpu-upgrade", 8, 32, "", 0, 0, 50, 0.03),
    ("cpu-xl", 16, 124, "", 0, 0, 1000, 1.00),
    ("cpu-performance", 32, 256, "", 0, 0, 1024, 1.90),
    ("t4-small", 4, 15, "T4", 1, 16, 50, 0.40),
    ("t4-medium", 8, 30, "T4", 1, 16, 100, 0.60),
    ("l4x1", 8, 30, "L4", 1, 24, 400, 0.80),
    ("l4x4", 48, 186, "L4", 4, 96, 3200, 3.80),
    ("l40sx1", 8, 62, "L40S", 1, 48, 380, 1.80),
    ("l40sx4", 48, 382, "L40S", 4, 192, 3200, 8.30),
    ("l40sx8", 192, 1534, "L40S", 8, 384, 6500, 23.50),
    ("a10g-small", 4, 15, "A10G", 1, 24, 110, 1.00),
    ("a10g-large", 12, 46, "A10G", 1, 24, 200, 1.50),
    ("a10g-largex2", 24, 92, "A10G", 2, 48, 1000, 3.00),
    ("a10g-largex4", 48, 184, "A10G", 4, 96, 2000, 5.00),
    ("a100-large", 12, 142, "A100", 1, 80, 1000, 2.50),
    ("a100x4", 48, 568, "A100", 4, 320, 4000, 10.00),
    ("a100x8", 96, 1136, "A100", 8, 640, 8000, 20.00),
    ("h200", 23, 256, "H200", 1, 141, 3000, 5.00),
    ("h200x2", 46, 512, "H200", 2, 282, 6000, 10.00),
    ("h200x4", 92, 1024, "H200", 4, 564, 12000, 20.00),
    ("h200x8", 184, 2048, "H200", 8, 1128, 24000, 40.00),
    ("rtx-pro-6000", 23, 256, "RTX PRO 6000", 1, 96, 475, 2.75),
    ("rtx-pro-6000x2", 46, 512, "RTX PRO 6000", 2, 192, 950, 5.50),
    ("rtx-pro-6000x4", 92, 1024, "RTX PRO 6000", 4, 384, 1900, 11.00),
    ("rtx-pro-6000x8", 184, 2048, "RTX PRO 6000", 8, 768, 3800, 22.00),
)
HARDWARE = {row[0]: Hardware(*row) for row in _ROWS}

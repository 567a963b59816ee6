"""A linear model on scaled features, trained by gradient descent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from houses.data import Array, Split


@dataclass
class Model:
    """The model.

    Attributes:
        mean: Of each feature.
        scale: Standard deviation of each feature.
        weight: Price per unit of each scaled feature.
        bias: Price of the mean house.
    """

    mean: Array
    scale: Array
    weight: Array
    bias: Array

    @classmethod
    def new(cls, data: Split) -> Model:
        """A model that knows nothing but the scale of its features."""
        columns = data.features.shape[1]
        return cls(data.features.mean(axis=0), data.features.std(axis=0), np.zeros(columns), np.zeros(1))

    def predict(self, features: Array) -> Array:
        """Prices, in thousands."""
        scaled: Array = (features - self.mean) / self.scale
        return scaled @ self.weight + self.bias

    def fit(self, data: Split, *, epochs: int, rate: float) -> Iterator[float]:
        """Train; gives the root of the mean squared error before each step."""
        scaled = (data.features - self.mean) / self.scale
        for _ in range(epochs):
            error = self.predict(data.features) - data.prices
            yield float(np.sqrt(np.mean(error**2)))
            self.weight -= rate * (scaled.T @ error) / len(error)
            self.bias -= rate * error.mean()

    def scores(self, data: Split) -> dict[str, float]:
        """Root mean squared error, and the share of the variance that is explained."""
        error = self.predict(data.features) - data.prices
        return {
            "eval_rmse": round(float(np.sqrt(np.mean(error**2))), 4),
            "eval_r2": round(float(1 - error.var() / data.prices.var()), 4),
        }

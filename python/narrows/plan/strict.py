"""What every model of a plan is made of."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Direction = Literal["down", "up"]


class Strict(BaseModel):
    """Base: immutable, unknown keys are errors, no value is converted silently."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

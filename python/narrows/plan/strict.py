"""What every model of a plan is made of."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Direction = Literal["down", "up"]
Name = Annotated[str, Field(pattern=r"^[^/.\x00][^/\x00]*$")]
"""What files are called by: it leads to no other directory, whoever wrote the plan."""
Inside = Annotated[str, Field(pattern=r"^([^/.\x00][^/\x00]*/)*[^/.\x00][^/\x00]*$")]
"""A file's path in a folder."""


class Strict(BaseModel):
    """Base: immutable, unknown keys are errors, no value is converted silently."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

"""Whether scores of speed tests say how services fare."""

"""What a prediction must hold, one bar a file."""

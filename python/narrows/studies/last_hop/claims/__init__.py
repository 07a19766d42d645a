"""What is taken for granted of a last hop, one claim a file."""

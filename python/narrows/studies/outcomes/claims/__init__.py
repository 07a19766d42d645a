"""What is taken for granted of scores, one claim a file."""

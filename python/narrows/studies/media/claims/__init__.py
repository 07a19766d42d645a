"""What RFC 8867 expects of its test cases, one case a file."""

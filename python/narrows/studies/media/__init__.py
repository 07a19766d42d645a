"""Programs of video calls in the test cases of RFC 8867."""

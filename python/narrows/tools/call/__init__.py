"""The service call: WebRTC between two browsers, with Google's congestion control."""

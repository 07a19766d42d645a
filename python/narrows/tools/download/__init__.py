"""The service download: a large file from nginx, over one connection or in batches over several."""

"""The tool split_tcp: a proxy on the path that ends every TCP connection and opens another."""

"""L4S: RFC 9331's requirements on a scalable sender, RFC 9332's on its queue."""

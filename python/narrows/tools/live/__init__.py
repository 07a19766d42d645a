"""The service live: any page of the Internet, used by a short recipe, in this host's Chromium."""

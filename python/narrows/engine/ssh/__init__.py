"""Real hosts over the system's OpenSSH: the file that names them, and whether they could carry a run."""

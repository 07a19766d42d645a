"""The study of Ray et al. on active queue management and speed tests."""

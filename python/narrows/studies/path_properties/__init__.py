"""Path properties from packet logs, measured where the truth is known (Philip 2025, chapter 5)."""

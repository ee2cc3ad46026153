"""Foundations that know nothing of our subject: errors, registries, settings, files, hashing, progress."""

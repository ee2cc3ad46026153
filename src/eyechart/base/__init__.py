"""Foundations independent of our subject: errors, registries, settings, files, hashing, progress."""

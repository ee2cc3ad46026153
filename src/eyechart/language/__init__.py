"""Analyse the language of questions and answers: words, types, vectors, similarity."""

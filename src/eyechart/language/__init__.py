"""The language of questions and answers: words, types, vectors, likeness."""

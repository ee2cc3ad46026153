"""English words that say nothing of what a question is about; train need not have seen them."""

# fmt: off
STOP_WORDS = (
    "a", "about", "an", "and", "any", "are", "as", "at", "be", "been", "being", "but", "by", "can", "could", "did",
    "do", "does", "doing", "for", "from", "had", "has", "have", "he", "her", "here", "him", "his", "how", "i", "if",
    "in", "into", "is", "it", "its", "many", "more", "most", "much", "my", "no", "not", "of", "on", "or", "our",
    "out", "over", "s", "she", "should", "so", "some", "such", "t", "than", "that", "the", "their", "them", "then",
    "there", "these", "they", "this", "those", "to", "too", "under", "up", "was", "we", "were", "what", "when",
    "where", "which", "who", "whose", "why", "will", "with", "would", "you", "your",
)
# fmt: on

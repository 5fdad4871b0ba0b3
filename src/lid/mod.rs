//! Halves of LIDs, LID assignment, and how LIDs realise a routing function.

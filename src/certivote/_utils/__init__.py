"""What any program could use: it knows nothing of votes."""

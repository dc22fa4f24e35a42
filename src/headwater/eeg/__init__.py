"""Cross-subject emotion recognition (MixEmo)."""

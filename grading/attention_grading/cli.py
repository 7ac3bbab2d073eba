"""The command attn."""

"""Optimal power flow: cases, models, requests in plain language, their synthesis and scoring."""

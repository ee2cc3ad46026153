"""Runs: study, probe, predict and judge over one folder, comparison, and the contract of audits."""

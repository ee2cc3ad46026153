"""Columns that audits need and data do not bring, one file each."""

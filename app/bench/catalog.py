"""Presets and operations a run can ask for."""

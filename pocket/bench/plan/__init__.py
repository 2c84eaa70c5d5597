"""Experiments in YAML become runs with an identity of their own, before anything is measured."""

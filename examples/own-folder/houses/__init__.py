"""Predicts the price of a house from five numbers."""

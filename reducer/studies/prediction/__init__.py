"""Predict failure from metrics: labels of failure, the data, measures of one number, and the study."""

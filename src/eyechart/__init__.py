"""An eye test for multimodal data and models."""

"""Training a network by a method: settings, one step, the loop over epochs, the folder it writes, the trained model."""

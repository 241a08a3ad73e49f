"""What Countersign promises, each as a test that can fail."""

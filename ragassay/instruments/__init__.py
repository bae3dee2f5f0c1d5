"""What measures or decides without a language model: signals, raters, encoders."""

"""Programs written for other libraries, run on headrace."""

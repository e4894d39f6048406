"""`audit`: leaks, copies and drift in the data of an evaluation."""

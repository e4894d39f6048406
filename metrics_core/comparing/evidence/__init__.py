"""What a comparison rests on: what is asked, the results of each model, and the data that they were evaluated on."""

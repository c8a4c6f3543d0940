"""One pass a file. A pass reads the view (and a compiled request over budget) and proposes events; it changes
nothing. What it proposes carries its exact result, so that no later code runs the detector again."""

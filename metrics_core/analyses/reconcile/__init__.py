"""`reconcile`: the definitions of a metric that reproduce a published number."""

raise SystemExit("this is the report of the shop, and nobody asked for it")

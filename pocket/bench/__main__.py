"""`python -m pocket.bench …`, as the workflow's rules call it."""

from pocket.bench.command import main

raise SystemExit(main())

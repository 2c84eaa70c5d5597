"""`python -m pocket …`."""

from pocket.cli import main

raise SystemExit(main())

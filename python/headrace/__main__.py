"""`python -m headrace`: the command line without an installed entry point."""

import sys

from headrace.cli import main

sys.exit(main())

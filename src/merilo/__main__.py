"""`python -m merilo` is `merilo`."""

import sys

from merilo.cli import main

sys.exit(main())

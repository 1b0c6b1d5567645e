"""Run the command `merilo` by `python -m merilo`."""

import sys

from merilo.cli import main

sys.exit(main())

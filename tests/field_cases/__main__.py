"""`python -m tests.field_cases FILE`: run field cases against the product."""

import sys

from tests.field_cases.run import main

sys.exit(main(sys.argv[1:]))

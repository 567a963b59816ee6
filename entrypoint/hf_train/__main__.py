"""`python -I -m hf_train`."""

import sys

from hf_train.cli import main

if __name__ == "__main__":
    sys.exit(main())

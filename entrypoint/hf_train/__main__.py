"""`python -I -m hf_train`: how the action and the container start."""

import signal
import sys

# While modules load, an interrupt must end us and not be taken for an error of one of them (an exit code of 1).
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from hf_train.cli import main

if __name__ == "__main__":
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main())

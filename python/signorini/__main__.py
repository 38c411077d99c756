"""`python -m signorini`: the command line."""

from ._command import main

main()

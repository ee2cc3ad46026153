"""Run the command line as `python -m eyechart`."""

from eyechart.cli import main

main()

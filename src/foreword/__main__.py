"""``python -m foreword``: the command line, where the script is not on the path."""

from foreword.cli.main import main

if __name__ == "__main__":
    main()

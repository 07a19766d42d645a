"""The site of `narrows serve`: everything below one directory of results, to be read in a browser."""

"""One tool per file: what a tool wrote, as text, becomes rows and figures. Pure functions; no file is
opened.
"""

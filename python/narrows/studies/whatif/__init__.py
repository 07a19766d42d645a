"""How often is `narrows whatif` right?"""

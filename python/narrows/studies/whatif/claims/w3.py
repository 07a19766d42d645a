from narrows.studies.whatif.claims.measures import inside, often

judge = often("W3", "A 90 % interval of what-if holds the truth", "truths inside", inside, least=0.85)

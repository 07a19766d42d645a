from narrows.studies.whatif.claims.measures import near

judge = near("W1", "What-if says what goodput a change leaves", "goodput_bps", most=0.1)

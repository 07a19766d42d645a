from narrows.studies.whatif.claims.measures import near

judge = near("W2", "What-if says what delay a change leaves", "rtt_p95_s", most=0.2)

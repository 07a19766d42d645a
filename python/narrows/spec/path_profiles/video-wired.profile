{
 "format": 1,
 "what": "Sessions of a video service with servers inside ISPs, clients on a wire",
 "properties": {
  "base_rtt_ns": {
   "quantiles": [
    [
     0.01,
     193400.0
    ],
    [
     0.05,
     501400.0
    ],
    [
     0.1,
     833300.0
    ],
    [
     0.25,
     1947000.0
    ],
    [
     0.5,
     5000000.0
    ],
    [
     0.75,
     12840000.0
    ],
    [
     0.9,
     30000000.0
    ],
    [
     0.95,
     49860000.0
    ],
    [
     0.99,
     50000000.0
    ]
   ],
   "known": null,
   "sessions": null,
   "source": "Philip 2025, section 5.4.1: median 5 ms, 90th percentile 30 ms; 99 % below 50 ms; log-normal through both"
  },
  "capacity_bps": {
   "quantiles": [
    [
     0.01,
     9863000.0
    ],
    [
     0.05,
     19500000.0
    ],
    [
     0.1,
     28040000.0
    ],
    [
     0.25,
     51450000.0
    ],
    [
     0.5,
     101000000.0
    ],
    [
     0.75,
     198300000.0
    ],
    [
     0.9,
     363800000.0
    ],
    [
     0.95,
     523200000.0
    ],
    [
     0.99,
     1034000000.0
    ]
   ],
   "known": null,
   "sessions": null,
   "source": "Ookla's Speedtest Global Index, as Philip 2025, section 5.7.1, has it: median of 101 Mbit/s; assumption: log-normal with a standard deviation of 1 in the natural logarithm"
  },
  "peak_queueing_delay_ns": {
   "quantiles": [
    [
     0.01,
     3393000.0
    ],
    [
     0.05,
     8563000.0
    ],
    [
     0.1,
     14030000.0
    ],
    [
     0.25,
     32000000.0
    ],
    [
     0.5,
     80000000.0
    ],
    [
     0.75,
     200000000.0
    ],
    [
     0.9,
     456200000.0
    ],
    [
     0.95,
     747400000.0
    ],
    [
     0.99,
     1886000000.0
    ]
   ],
   "known": null,
   "sessions": null,
   "source": "Philip 2025, section 5.5.1: medians and third quartiles of all sessions, 80 and 200 ms; log-normal through both. What goes with base RTT: that the ratio of the two has 10 and 25"
  }
 },
 "correlations": [
  [
   "base_rtt_ns",
   "peak_queueing_delay_ns",
   0.42,
   null
  ]
 ]
}

{
 "format": 1,
 "what": "M-Lab's NDT tests of all networks; their capacity is not known, so give a rate",
 "properties": {
  "base_rtt_ns": {
   "quantiles": [
    [
     0.01,
     2288000.0
    ],
    [
     0.05,
     4499000.0
    ],
    [
     0.1,
     6451000.0
    ],
    [
     0.25,
     11780000.0
    ],
    [
     0.5,
     23000000.0
    ],
    [
     0.75,
     44900000.0
    ],
    [
     0.9,
     82000000.0
    ],
    [
     0.95,
     117600000.0
    ],
    [
     0.99,
     231200000.0
    ]
   ],
   "known": null,
   "sessions": null,
   "source": "Philip 2025, section 5.4.1: median 23 ms, 90th percentile 82 ms; log-normal through both"
  },
  "peak_queueing_delay_ns": {
   "quantiles": [
    [
     0.01,
     8482000.0
    ],
    [
     0.05,
     21410000.0
    ],
    [
     0.1,
     35070000.0
    ],
    [
     0.25,
     80000000.0
    ],
    [
     0.5,
     200000000.0
    ],
    [
     0.75,
     500000000.0
    ],
    [
     0.9,
     1141000000.0
    ],
    [
     0.95,
     1868000000.0
    ],
    [
     0.99,
     4716000000.0
    ]
   ],
   "known": null,
   "sessions": null,
   "source": "Philip 2025, section 5.5.1: median and third quartile, 200 and 500 ms; log-normal through both; assumption: independent of base RTT"
  }
 },
 "correlations": []
}

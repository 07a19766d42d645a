{
 "format": 1,
 "what": "Sessions of a video service with servers inside ISPs, clients on cellular networks",
 "properties": {
  "base_rtt_ns": {
   "quantiles": [
    [
     0.01,
     2817000.0
    ],
    [
     0.05,
     4851000.0
    ],
    [
     0.1,
     6480000.0
    ],
    [
     0.25,
     10510000.0
    ],
    [
     0.5,
     18000000.0
    ],
    [
     0.75,
     30820000.0
    ],
    [
     0.9,
     50000000.0
    ],
    [
     0.95,
     66800000.0
    ],
    [
     0.99,
     115000000.0
    ]
   ],
   "known": null,
   "sessions": null,
   "source": "Philip 2025, section 5.4.1: median 18 ms, 90th percentile 50 ms; log-normal through both"
  },
  "capacity_bps": {
   "quantiles": [
    [
     0.01,
     8984000.0
    ],
    [
     0.05,
     17760000.0
    ],
    [
     0.1,
     25540000.0
    ],
    [
     0.25,
     46870000.0
    ],
    [
     0.5,
     92000000.0
    ],
    [
     0.75,
     180600000.0
    ],
    [
     0.9,
     331400000.0
    ],
    [
     0.95,
     476600000.0
    ],
    [
     0.99,
     942100000.0
    ]
   ],
   "known": null,
   "sessions": null,
   "source": "Ookla's Speedtest Global Index, as Philip 2025, section 5.7.1, has it: median of 92 Mbit/s; assumption: log-normal with a standard deviation of 1 in the natural logarithm"
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

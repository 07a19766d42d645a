"""What the page of CoreScale opens with (`narrows.studies.opening`)."""

SAID = (
    "Fairness is Jain's index: 1 where all flows get the same. Two BBR flows on a link of 100 Mbit/s reach "
    "{T5|Jain's index|scale=edge, mix=2 bbr, rtt=100 ms}, a thousand on 10 Gbit/s "
    "{T5|Jain's index|scale=core, mix=1000 bbr, rtt=100 ms}, five thousand "
    "{T5|Jain's index|scale=core, mix=5000 bbr, rtt=100 ms}.",
    "Of loss-based flows five thousand CUBIC flows reach "
    "{T4|Jain's index|scale=core, mix=5000 cubic, rtt=100 ms}, five thousand NewReno flows "
    "{T4|Jain's index|scale=core, mix=5000 reno, rtt=100 ms}.",
    "One BBR flow takes {T6|share of bbr|scale=edge, mix=1 bbr + 9 cubic, rtt=100 ms} of the link from nine "
    "CUBIC flows, and {T6|share of bbr|scale=core, mix=1 bbr + 4999 cubic, rtt=100 ms} from 4999.",
    "Five BBR flows take {T7|share of bbr|scale=edge, mix=5 bbr + 5 cubic, rtt=100 ms} from five CUBIC "
    "flows; 2500 take {T7|share of bbr|scale=core, mix=2500 bbr + 2500 cubic, rtt=100 ms} from 2500 (round "
    "trips of 100 ms in an empty queue).",
    "Five CUBIC flows take {T8|share of cubic|scale=edge, mix=5 cubic + 5 reno, rtt=100 ms} from five "
    "NewReno flows.",
)

"""What `tc` and the kernel make of an option: its words, its limits, where it is kept. It knows no qdisc."""

import narrows.spec  # noqa: F401  first: it imports the queues, which import this

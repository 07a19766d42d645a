"""What the page of the study of the last hop opens with (`narrows.studies.opening`)."""

SAID = (
    "Of what a link with a rate of 30 Mbit/s carries eight speed tests read "
    "{B1|reading over what is carried|on rate, device|min%} to "
    "{B1|reading over what is carried|on rate, device|max%}; of Wi-Fi "
    "{B1|reading over what is carried|on wifi, device|min%} to "
    "{B1|reading over what is carried|on wifi, device|max%}, of LTE "
    "{B1|reading over what is carried|on lte, device|min%} to "
    "{B1|reading over what is carried|on lte, device|max%}, of a satellite "
    "{B1|reading over what is carried|on satellite, device|min%} to "
    "{B1|reading over what is carried|on satellite, device|max%}, with the queue in the device.",
    "With FQ-CoDel right above Wi-Fi one CUBIC connection (iperf3) reads "
    "{B1|reading over what is carried|iperf3 on wifi, router|%}, and under CAKE at 90 % "
    "{B1|reading over what is carried|iperf3 on wifi, cake90|%}; the UDP test "
    "{B1|reading over what is carried|udp_capacity on wifi, router|%} and "
    "{B1|reading over what is carried|udp_capacity on wifi, cake90|%}.",
    "With the queue in the device NDT7 shows {B2|latency shown over that met|ndt7 on wifi, device|%} of the "
    "latency that somebody else meets on Wi-Fi, and "
    "{B2|latency shown over that met|ndt7 on satellite, device|%} by satellite.",
    "On Wi-Fi somebody else's round trip beside a CUBIC flow takes "
    "{B4|round trip that another meets, p95|cubic on wifi, device} (p95) with the queue in the device, "
    "{B4|round trip that another meets, p95|cubic on wifi, router} with FQ-CoDel above a ring of one packet, "
    "and {B4|round trip that another meets, p95|cubic on wifi, cake90} under CAKE at 90 %; by LTE "
    "{B4|round trip that another meets, p95|cubic on lte, device}, "
    "{B4|round trip that another meets, p95|cubic on lte, router} and "
    "{B4|round trip that another meets, p95|cubic on lte, cake90}.",
)

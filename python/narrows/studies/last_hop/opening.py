"""What the page of the study of the last hop opens with (`narrows.studies.opening`)."""

SAID = (
    "Of what a link with a rate of 30 Mbit/s carries eight speed tests read "
    "{B1|reading over what is carried|medium=rate, place=device|min} to "
    "{B1|reading over what is carried|medium=rate, place=device|max}; of Wi-Fi "
    "{B1|reading over what is carried|medium=wifi, place=device|min} to "
    "{B1|reading over what is carried|medium=wifi, place=device|max}, of LTE "
    "{B1|reading over what is carried|medium=lte, place=device|min} to "
    "{B1|reading over what is carried|medium=lte, place=device|max}, of a satellite "
    "{B1|reading over what is carried|medium=satellite, place=device|min} to "
    "{B1|reading over what is carried|medium=satellite, place=device|max}, with the queue in the device.",
    "With FQ-CoDel right above Wi-Fi one CUBIC connection (iperf3) reads "
    "{B1|reading over what is carried|tool=iperf3, medium=wifi, place=router}, and under CAKE at 90 % "
    "{B1|reading over what is carried|tool=iperf3, medium=wifi, place=cake90}; the UDP test "
    "{B1|reading over what is carried|tool=udp_capacity, medium=wifi, place=router} and "
    "{B1|reading over what is carried|tool=udp_capacity, medium=wifi, place=cake90}.",
    "With the queue in the device NDT7 shows "
    "{B2|latency shown over that met|tool=ndt7, medium=wifi, place=device} of the latency that somebody else "
    "meets on Wi-Fi, and {B2|latency shown over that met|tool=ndt7, medium=satellite, place=device} by "
    "satellite.",
    "On Wi-Fi somebody else's round trip beside a CUBIC flow takes "
    "{B4|round trip that another meets, p95|flow=cubic, medium=wifi, place=device} (p95) with the queue in "
    "the device, {B4|round trip that another meets, p95|flow=cubic, medium=wifi, place=router} with FQ-CoDel "
    "above a ring of one packet, and "
    "{B4|round trip that another meets, p95|flow=cubic, medium=wifi, place=cake90} under CAKE at 90 %; by "
    "LTE {B4|round trip that another meets, p95|flow=cubic, medium=lte, place=device}, "
    "{B4|round trip that another meets, p95|flow=cubic, medium=lte, place=router} and "
    "{B4|round trip that another meets, p95|flow=cubic, medium=lte, place=cake90}.",
)

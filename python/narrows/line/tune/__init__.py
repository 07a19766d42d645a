"""`narrows tune`: puts CAKE before the ISP's queue, each way, and gives back what was there."""

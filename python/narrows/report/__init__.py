"""Report: figures and one self-contained HTML file from what runs measured. Draws; computes no metric of its
own."""

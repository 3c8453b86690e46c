"""Who decides what becomes of a candidate: policy, judge, verification, people."""

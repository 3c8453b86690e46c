"""Review of candidates: policy, judge, verification, and escalation to people."""

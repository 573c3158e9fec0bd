//! From counters to answers: indices, means and confidence intervals.

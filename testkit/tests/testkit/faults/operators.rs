//! What becomes of the faults in an operator: it converges, whatever the fault, and says why it is late.

//! Simulated workloads: pods that become ready without a node.

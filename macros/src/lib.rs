//! The attribute macros and derives of Kubewright.

//! Tests of Kubernetes operators against an API server in the process.

//! The controllers that every cluster has: garbage collection, namespaces, service accounts, endpoints.

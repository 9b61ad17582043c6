//! The way in: TLS and the in-process service, routing, negotiation.

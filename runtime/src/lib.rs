//! A framework for Kubernetes operators: one attribute declares a controller.

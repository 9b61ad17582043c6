//! CustomResourceDefinitions: validation, defaulting, conditions, and the resources they define.

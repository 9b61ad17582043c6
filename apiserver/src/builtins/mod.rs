//! The built-in kinds as data: which there are, their defaults, validation and immutability.

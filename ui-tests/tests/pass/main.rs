//! Programs that must compile, one module each. They are part of the ordinary build, so they cost no second one.

mod all_keys;
mod another_name;
mod by_hand;
mod by_macro_rules;
mod cluster_scoped;
mod conditions;
mod configured;
mod generic_controller;
mod handed_out;
mod kinds;
mod map_functions;
mod quiet;
mod resources;
mod standby;
mod tests_of_clusters;

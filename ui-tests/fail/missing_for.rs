use kubewright::prelude::*;

#[controller(owns = Deployment)]
struct C;

fn main() {}

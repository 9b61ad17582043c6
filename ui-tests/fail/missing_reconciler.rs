use kubewright::prelude::*;
use kubewright_ui_tests::*;

#[controller(for = App)]
struct C;

fn main() {
    let _ = Manager::new("demo").controller(C);
}
